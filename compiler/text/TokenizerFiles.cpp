//===- TokenizerFiles.cpp - Converts tokenizer files to tokenizer.json ------===//

#include "compiler/text/GgufVocabulary.h"
#include "runtime/text/CrateCalls.h"

namespace ingot::text {

using import::Checkpoint;

namespace {

Error cannotMake(std::string why) {
  return {
      ExitCode::File, "E0626", "the checkpoint's tokenizer files cannot be converted",
      std::move(why),
      "create a tokenizer.json (pip install transformers sentencepiece tiktoken): python -c \"from "
      "transformers import AutoTokenizer as A; A.from_pretrained('DIR').save_pretrained('DIR')\"; "
      "or remove these files to get an engine that accepts only ids"};
}

/// Converts SentencePiece, vocab.json with merges.txt, tekken.json or tiktoken
/// (crate/src/vocabulary_files.rs).
Result<TokenizerJson> convert(const Checkpoint &checkpoint) {
  const import::TextFiles &text = checkpoint.text;
  auto modelType = checkpoint.has("model_type") ? checkpoint.string("model_type") : std::string();
  if (!modelType)
    return modelType.error();
  auto slice = [](const std::string &bytes) { return IngotTextSlice{bytes.data(), bytes.size()}; };
  const IngotVocabularyFiles files{slice(text.tokenizerConfigJson), slice(*modelType),
                                   slice(text.tokenizerModel),      slice(text.vocabJson),
                                   slice(text.mergesTxt),           slice(text.tekkenJson)};
  TokenizerJson made;
  std::string why;
  int32_t status = ingot_tokenizer_convert(&files, appendTo(made.json), appendTo(made.config),
                                           appendTo(made.source), appendTo(why));
  if (status == INGOT_TEXT_PANIC)
    return crateFailed(why);
  if (status != INGOT_TEXT_OK)
    return cannotMake(why);
  return made;
}

} // namespace

Result<TokenizerJson> tokenizerJsonOf(const Checkpoint &checkpoint) {
  const import::TextFiles &text = checkpoint.text;
  if (hasGgufVocabulary(checkpoint)) {
    auto converted = ggufToTokenizerJson(checkpoint);
    if (!converted)
      return converted.error();
    return TokenizerJson{std::move(*converted), "", "GGUF"};
  }
  if (!text.tokenizerJson.empty())
    return TokenizerJson{text.tokenizerJson, text.tokenizerConfigJson, "tokenizer.json"};
  if (text.tokenizerModel.empty() && text.vocabJson.empty() && text.mergesTxt.empty() &&
      text.tekkenJson.empty())
    return TokenizerJson{};
  return convert(checkpoint);
}

} // namespace ingot::text
