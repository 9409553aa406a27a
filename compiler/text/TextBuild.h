//===- TextBuild.h - A checkpoint's tokenizer, made for the engine -------===//
//
// Compile time only (library ingot-text-build). A tokenizer.json is taken as it is; a
// GGUF vocabulary is first written as the tokenizer.json it was once made from, so that
// there is one path from there on. A BPE model becomes tables that are read in
// place (kFlatBpe); other models stay JSON (kHfJson).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"
#include "runtime/text/Text.h"

#include <optional>
#include <string>

namespace ingot::text {

struct TokenizerArtifact {
  std::string kind;   ///< kFlatBpe or kHfJson: Text.tokenizer_kind
  std::string bytes;  ///< the tokenizer segment; the same for the same checkpoint
  std::string source; ///< what it was made of, for people: "tokenizer.json"
  SpecialTokens special;
};

/// nullopt: the checkpoint has no tokenizer (the engine will take ids). Errors: E0620
/// (vocabulary of an unknown kind or pre-tokenizer, named), E0621 (damaged vocabulary), E0626
/// (files of a tokenizer of which none can be made).
Result<std::optional<TokenizerArtifact>> buildTokenizer(const import::Checkpoint &checkpoint);

/// The special ids that config.json, generation_config.json or GGUF keys state, for a
/// checkpoint without a tokenizer (names of tokens cannot be looked up then).
Result<SpecialTokens> configuredSpecialTokens(const import::Checkpoint &checkpoint);

/// The chat templates of a checkpoint, as Hugging Face transformers chooses among them.
struct ChatTemplates {
  std::string source;                       ///< for requests; "": there is none
  std::string name;                         ///< what it is called among `count`
  size_t count = 0;                         ///< how many the checkpoint has
  std::vector<import::NamedTemplate> other; ///< for other requests: "tool_use" for those with tools
};

/// `chosen`: the name of the one for all requests; "": the default, or the only one. Each that the engine will have
/// is checked: E0610, E0611 (it cannot be read). E0627: of several none is the default, or none has the chosen name.
Result<ChatTemplates> findChatTemplates(const import::Checkpoint &checkpoint,
                                        std::string_view chosen = "");

/// What the environment of templates cannot run shows here, not at the first request: E0610, E0611.
Result<void> checkChatTemplate(std::string_view source);

/// The tokenizer.json that a GGUF vocabulary stands for (tests compare it with HF).
Result<std::string> ggufToTokenizerJson(const import::Checkpoint &checkpoint);

/// How BPE models are kept: in our tables, or as the library's own model (slow to start; what
/// tests compare the tables with).
enum class BpeForm { Tables, Library };

/// Texts of a tokenizer's files, of which the first is needed.
struct TokenizerTexts {
  std::string_view tokenizerJson, configJson = "", specialTokensMapJson = "", addedTokensJson = "";
};

/// The segment, and of `special` what these files say: names, prefix, suffix. Errors: E0621.
Result<TokenizerArtifact> compileTokenizer(const TokenizerTexts &texts,
                                           BpeForm form = BpeForm::Tables);
/// The same of a tokenizer.json alone.
Result<TokenizerArtifact> compileTokenizerJson(std::string_view json,
                                               BpeForm form = BpeForm::Tables);

} // namespace ingot::text
