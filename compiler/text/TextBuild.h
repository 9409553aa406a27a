//===- TextBuild.h - Builds the tokenizer of an engine -------------------===//
//
// Used only at compile time (library ingot-text-build). A tokenizer.json is used unchanged; a GGUF vocabulary
// is first converted back to the tokenizer.json it was made from, so that a single path follows. A BPE model
// becomes tables that are read in place (kFlatBpe); other models stay JSON (kHfJson).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"
#include "runtime/text/Text.h"

#include <optional>
#include <string>

namespace ingot::text {

struct TokenizerArtifact {
  std::string kind;   ///< kFlatBpe or kHfJson: Text.tokenizer_kind
  std::string bytes;  ///< the tokenizer segment; deterministic for a given checkpoint
  std::string source; ///< its origin, for reports: "tokenizer.json"
  SpecialTokens special;
};

/// nullopt: the checkpoint has no tokenizer (the engine will take token ids). Errors: E0620 (unknown kind of
/// vocabulary or pre-tokenizer, which is named), E0621 (damaged vocabulary), E0626 (tokenizer files from
/// which no tokenizer can be built).
Result<std::optional<TokenizerArtifact>> buildTokenizer(const import::Checkpoint &checkpoint);

/// The special ids that config.json, generation_config.json or GGUF keys state, for a checkpoint without a
/// tokenizer (names of tokens cannot be looked up in that case).
Result<SpecialTokens> configuredSpecialTokens(const import::Checkpoint &checkpoint);

/// The chat templates of a checkpoint, selected as Hugging Face transformers does.
struct ChatTemplates {
  std::string source;                       ///< the template for requests; "": there is none
  std::string name;                         ///< its name among the `count` templates
  size_t count = 0;                         ///< number of templates in the checkpoint
  std::vector<import::NamedTemplate> other; ///< others: "tool_use" for requests with tools
};

/// `chosen`: the name of the template for all requests; "": the default, or the only one. Each template that
/// the engine will contain is checked: E0610, E0611 (it cannot be parsed). E0627: none of several is the
/// default, or none has the chosen name.
Result<ChatTemplates> findChatTemplates(const import::Checkpoint &checkpoint,
                                        std::string_view chosen = "");

/// Reports now, rather than at the first request, what the template environment cannot run: E0610,
/// E0611.
Result<void> checkChatTemplate(std::string_view source);

/// The tokenizer.json equivalent to a GGUF vocabulary (tests compare it with HF).
Result<std::string> ggufToTokenizerJson(const import::Checkpoint &checkpoint);

/// How BPE models are stored: as our tables, or as the library's own model (slow to start; tests compare the
/// tables with it).
enum class BpeForm { Tables, Library };

/// The texts of a tokenizer's files; only the first is required.
struct TokenizerTexts {
  std::string_view tokenizerJson, configJson = "", specialTokensMapJson = "", addedTokensJson = "";
};

/// Builds the tokenizer segment, and those fields of `special` that these files define: names, prefix,
/// suffix. Errors: E0621.
Result<TokenizerArtifact> compileTokenizer(const TokenizerTexts &texts,
                                           BpeForm form = BpeForm::Tables);
/// Builds the tokenizer segment from just a tokenizer.json.
Result<TokenizerArtifact> compileTokenizerJson(std::string_view json,
                                               BpeForm form = BpeForm::Tables);

} // namespace ingot::text
