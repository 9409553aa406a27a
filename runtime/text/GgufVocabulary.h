//===- GgufVocabulary.h - Parts of TextBuild that its files share --------===//
#pragma once

#include "runtime/text/TextBuild.h"

namespace ingot::text {

inline bool hasGgufVocabulary(const import::Checkpoint &checkpoint) {
  return checkpoint.container == import::Container::Gguf && checkpoint.has("tokenizer.ggml.tokens");
}

/// Special ids with a tokenizer at hand: names become ids, and ids outside its
/// vocabulary are dropped. E0621 for a GGUF id outside the vocabulary.
Result<SpecialTokens> findSpecialTokens(const import::Checkpoint &checkpoint,
                                        const Tokenizer &tokenizer);

/// Whether texts of a byte-level vocabulary with this pre-tokenizer begin with BOS where the file does not say.
bool beginsWithBos(std::string_view preTokenizer);

Error damagedVocabulary(std::string why);

} // namespace ingot::text
