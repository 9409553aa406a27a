//===- GgufVocabulary.h - Declarations shared by TextBuild's files -------===//
#pragma once

#include "compiler/text/TextBuild.h"

namespace ingot::text {

inline bool hasGgufVocabulary(const import::Checkpoint &checkpoint) {
  return checkpoint.container == import::Container::Gguf && checkpoint.has("tokenizer.ggml.tokens");
}

/// Finds the special tokens of a checkpoint with a tokenizer: converts names to token ids, and drops token ids outside
/// the vocabulary. On entry, `special` holds the special tokens that the tokenizer's files name. Errors: E0621: an id
/// that a GGUF states, or that the tokenizer adds before or after a text, is outside the vocabulary.
Result<void> findSpecialTokens(const import::Checkpoint &checkpoint, const Tokenizer &tokenizer,
                               SpecialTokens &special);

/// Returns whether texts in a byte-level vocabulary with this pre-tokenizer begin with BOS if the file does not
/// specify it.
bool beginsWithBos(std::string_view preTokenizer);

Error damagedVocabulary(std::string why);

/// A tokenizer.json, and the tokenizer_config.json that belongs to it.
struct TokenizerJson {
  std::string json; ///< "": the checkpoint has no tokenizer
  std::string config;
  std::string source; ///< the origin of both, for reports
};
/// Errors: E0620, E0621, E0626.
Result<TokenizerJson> tokenizerJsonOf(const import::Checkpoint &checkpoint);

} // namespace ingot::text
