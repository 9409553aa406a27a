//===- GgufVocabulary.h - Parts of TextBuild that its files share --------===//
#pragma once

#include "compiler/text/TextBuild.h"

namespace ingot::text {

inline bool hasGgufVocabulary(const import::Checkpoint &checkpoint) {
  return checkpoint.container == import::Container::Gguf && checkpoint.has("tokenizer.ggml.tokens");
}

/// Special ids with a tokenizer at hand: names become ids, and ids outside its vocabulary are dropped. `special` has
/// what the tokenizer's files say. E0621 for a GGUF id, or one before or behind a text, outside the vocabulary.
Result<void> findSpecialTokens(const import::Checkpoint &checkpoint, const Tokenizer &tokenizer,
                               SpecialTokens &special);

/// Whether texts of a byte-level vocabulary with this pre-tokenizer begin with BOS where the file does not say.
bool beginsWithBos(std::string_view preTokenizer);

Error damagedVocabulary(std::string why);

/// A tokenizer.json, and the tokenizer_config.json beside it.
struct TokenizerJson {
  std::string json; ///< "": the checkpoint has no tokenizer
  std::string config;
  std::string source; ///< what both were made of, for people
};
/// Errors: E0620, E0621, E0626.
Result<TokenizerJson> tokenizerJsonOf(const import::Checkpoint &checkpoint);

} // namespace ingot::text
