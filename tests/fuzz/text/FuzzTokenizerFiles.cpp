// Builds tokenizers from arbitrary files. The first byte selects the file, the rest is its contents. A tokenizer that
// can be built must encode a text.

#include "compiler/text/TextBuild.h"

#include <cstdlib>

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  import::Checkpoint checkpoint;
  checkpoint.container = import::Container::Safetensors;
  import::TextFiles &text = checkpoint.text;
  constexpr const char *kModels[] = {"llama", "gemma", "mistral", "qwen2", "gpt2"};
  checkpoint.metadata["model_type"] = std::string(kModels[data[0] / 8 % 5]);
  const std::string plain = R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})";
  switch (data[0] % 8) {
  case 0:
    text.tokenizerConfigJson = R"({"tokenizer_class":"LlamaTokenizer"})";
    [[fallthrough]];
  case 1:
    text.tokenizerModel = rest;
    break;
  case 2:
    text.tekkenJson = rest;
    break;
  case 3:
    text.vocabJson = rest, text.mergesTxt = "a b\n";
    break;
  case 4:
    text.vocabJson = R"({"a":0,"b":1,"ab":2})", text.mergesTxt = rest;
    break;
  case 5:
    text.tokenizerJson = plain, text.tokenizerConfigJson = rest;
    break;
  case 6:
    text.tokenizerJson = plain, text.specialTokensMapJson = rest;
    break;
  default:
    text.tokenizerJson = plain, text.addedTokensJson = rest;
  }
  auto built = text::buildTokenizer(checkpoint);
  if (!built) {
    if (built.error().code.empty() || built.error().what.empty())
      std::abort();
    return 0;
  }
  if (!*built) // the files define no tokenizer
    return 0;
  auto tokenizer =
      text::Tokenizer::fromBytes((*built)->kind, std::as_bytes(std::span((*built)->bytes)));
  if (tokenizer)
    (void)(*tokenizer)->encode("a <s>b \n");
  return 0;
}
