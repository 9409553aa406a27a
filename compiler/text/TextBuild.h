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
  std::string kind;  ///< kFlatBpe or kHfJson: Text.tokenizer_kind
  std::string bytes; ///< the tokenizer segment; the same for the same checkpoint
  SpecialTokens special;
};

/// nullopt: the checkpoint has no tokenizer (the engine will take ids). Errors: E0620
/// (vocabulary of an unknown kind or pre-tokenizer, named), E0621 (damaged vocabulary).
Result<std::optional<TokenizerArtifact>> buildTokenizer(const import::Checkpoint &checkpoint);

/// The special ids that config.json, generation_config.json or GGUF keys state, for a
/// checkpoint without a tokenizer (names of tokens cannot be looked up then).
Result<SpecialTokens> configuredSpecialTokens(const import::Checkpoint &checkpoint);

/// The chat template's source; nullopt: there is none. Of several, the one called
/// "default". Checked to parse (E0610, E0611).
Result<std::optional<std::string>> findChatTemplate(const import::Checkpoint &checkpoint);

/// The tokenizer.json that a GGUF vocabulary stands for (tests compare it with HF).
Result<std::string> ggufToTokenizerJson(const import::Checkpoint &checkpoint);

/// How BPE models are kept: in our tables, or as the library's own model (slow to start; what
/// tests compare the tables with).
enum class BpeForm { Tables, Library };

/// The segment for a tokenizer.json; `special` stays empty. Errors: E0621.
Result<TokenizerArtifact> compileTokenizerJson(std::string_view json,
                                               BpeForm form = BpeForm::Tables);

} // namespace ingot::text
