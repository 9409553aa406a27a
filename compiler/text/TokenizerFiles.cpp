//===- TokenizerFiles.cpp - Whatever a checkpoint has, as a tokenizer.json --===//

#include "compiler/text/GgufVocabulary.h"

namespace ingot::text {

using import::Checkpoint;

Result<TokenizerJson> tokenizerJsonOf(const Checkpoint &checkpoint) {
  if (hasGgufVocabulary(checkpoint)) {
    auto converted = ggufToTokenizerJson(checkpoint);
    if (!converted)
      return converted.error();
    return TokenizerJson{std::move(*converted), "GGUF"};
  }
  if (!checkpoint.text.tokenizerJson.empty())
    return TokenizerJson{checkpoint.text.tokenizerJson, "tokenizer.json"};
  return TokenizerJson{};
}

} // namespace ingot::text
