//===- QuantizedFuzzer.cpp - Any bytes as config.json and quantised tensors ---===//
//
// The input is a line of JSON followed by a safetensors file, since quantised weights need both to be interpreted.
//===----------------------------------------------------------------------===//
#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/containers/Safetensors.h"
#include "compiler/import/methods/Quantized.h"
#include "tests/fuzz/import/UseCheckpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace ingot;
  const std::string_view all(reinterpret_cast<const char *>(data), size);
  const size_t end = std::min(all.find('\n'), size), from = std::min(end + 1, size);
  import::CheckpointBuilder builder(import::Container::Safetensors);
  const std::string config(all.substr(0, end));
  Result<void> read = import::readConfig(config, "config.json", builder);
  if (read) {
    auto names = import::readSafetensors(std::as_bytes(std::span(data + from, size - from)), "fuzz",
                                         builder);
    if (!names)
      read = names.error();
  }
  if (read)
    read = import::readQuantized(builder);
  if (read)
    fuzz::useCheckpoint(*builder.finish(""));
  else
    fuzz::checkError(read.error());
  return 0;
}
