//===- ConfigFuzzer.cpp - Any bytes as config.json or tokenizer_config.json ===//
#include "compiler/import/config/ChatTemplate.h"
#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/methods/Quantized.h"
#include "tests/fuzz/import/UseCheckpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace ingot;
  std::string text(reinterpret_cast<const char *>(data), size);
  import::CheckpointBuilder builder(import::Container::Safetensors);
  Result<void> read = import::readConfig(text, "config.json", builder);
  if (read)
    read = import::unwrapConfig(builder, "config.json");
  if (read)
    read = import::readQuantized(builder);
  if (read)
    read = import::unwrapTensors(builder);
  if (read)
    fuzz::useCheckpoint(*builder.finish(""));
  else
    fuzz::checkError(read.error());
  auto chatTemplates = import::chatTemplatesIn(text, "tokenizer_config.json");
  if (!chatTemplates)
    fuzz::checkError(chatTemplates.error());
  return 0;
}
