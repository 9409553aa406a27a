//===- TextBuild.cpp - A checkpoint's tokenizer and chat template --------===//

#include "compiler/text/TextBuild.h"
#include "compiler/text/GgufVocabulary.h"
#include "runtime/text/CrateCalls.h"

namespace ingot::text {

using import::Checkpoint;

Result<TokenizerArtifact> compileTokenizerJson(std::string_view json, BpeForm form) {
  TokenizerArtifact artifact;
  std::string why;
  bool flat = false;
  int32_t status = ingot_tokenizer_compile({json.data(), json.size()}, form == BpeForm::Library,
                                           &flat, appendTo(artifact.bytes), appendTo(why));
  if (status != INGOT_TEXT_OK)
    return damagedVocabulary(why);
  artifact.kind = flat ? kFlatBpe : kHfJson;
  return artifact;
}

Result<std::optional<TokenizerArtifact>> buildTokenizer(const Checkpoint &checkpoint) {
  checkpoint.ignore("tokenizer.*");
  std::string json = checkpoint.text.tokenizerJson;
  if (hasGgufVocabulary(checkpoint)) {
    auto converted = ggufToTokenizerJson(checkpoint);
    if (!converted)
      return converted.error();
    json = std::move(*converted);
  }
  if (json.empty())
    return std::optional<TokenizerArtifact>();

  auto artifact = compileTokenizerJson(json);
  if (!artifact)
    return artifact.error();
  auto tokenizer = Tokenizer::fromBytes(artifact->kind, std::as_bytes(std::span(artifact->bytes)));
  if (!tokenizer)
    return tokenizer.error();
  auto special = findSpecialTokens(checkpoint, **tokenizer);
  if (!special)
    return special.error();
  artifact->special = *special;
  return std::optional<TokenizerArtifact>(std::move(*artifact));
}

Result<std::optional<std::string>> findChatTemplate(const Checkpoint &checkpoint) {
  std::string source = checkpoint.text.chatTemplate;
  if (checkpoint.has("tokenizer.chat_template")) {
    auto text = checkpoint.string("tokenizer.chat_template");
    if (!text)
      return text.error();
    source = *text;
  }
  if (source.empty())
    return std::optional<std::string>();
  if (auto parsed = ChatTemplate::parse(source); !parsed)
    return parsed.error();
  return std::optional<std::string>(std::move(source));
}

} // namespace ingot::text
