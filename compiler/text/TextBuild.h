//===- TextBuild.h - Builds the tokenizer of an engine -------------------===//
//
// Only the compiler uses this code (library ingot-text-build). A tokenizer.json is used unchanged. A GGUF vocabulary
// is first converted back to the tokenizer.json it was made from, so that the later steps are the same for both. A BPE
// model becomes tables that are read in place (kFlatBpe); other models stay JSON (kHfJson).
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

/// Builds the checkpoint's tokenizer. Returns nullopt if the checkpoint has none; the engine will then take token ids.
/// Errors: E0620 (unknown kind of vocabulary or pre-tokenizer, which the error names), E0621 (damaged vocabulary),
/// E0626 (tokenizer files from which no tokenizer can be built).
Result<std::optional<TokenizerArtifact>> buildTokenizer(const import::Checkpoint &checkpoint);

/// Returns the special tokens that config.json, generation_config.json or GGUF keys state, for a checkpoint without a
/// tokenizer (names of tokens cannot be looked up in that case).
Result<SpecialTokens> configuredSpecialTokens(const import::Checkpoint &checkpoint);

/// The chat templates of a checkpoint, selected as Hugging Face transformers does.
struct ChatTemplates {
  std::string source;                       ///< the template for requests; "": there is none
  std::string name;                         ///< its name among the `count` templates
  size_t count = 0;                         ///< number of templates in the checkpoint
  std::vector<import::NamedTemplate> other; ///< others: "tool_use" for requests with tools
};

/// Selects and checks the templates that the engine will contain. `chosen` names the template for all requests; ""
/// selects the default, or the only one. Errors: E0610: a template cannot be parsed; E0611: a template is too large;
/// E0627: none of several templates is the default, or none has the chosen name.
Result<ChatTemplates> findChatTemplates(const import::Checkpoint &checkpoint,
                                        std::string_view chosen = "");

/// Checks at compile time, rather than at the first request, that the template environment can run the template.
/// Errors: E0610, E0611.
Result<void> checkChatTemplate(std::string_view source);

/// Returns the tokenizer.json equivalent to a GGUF vocabulary (tests compare it with HF).
Result<std::string> ggufToTokenizerJson(const import::Checkpoint &checkpoint);

/// Specifies how BPE models are stored: as our tables, or as the library's own model (slow to start; tests compare the
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
