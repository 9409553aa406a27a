//===- GgufFuzzer.cpp - Any bytes as a GGUF file --------------------------===//
#include "compiler/import/Gguf.h"
#include "tests/fuzz/import/UseCheckpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace ingot;
  import::CheckpointBuilder builder(import::Container::Gguf);
  Result<void> read = import::readGguf(std::as_bytes(std::span(data, size)), "fuzz.gguf", builder);
  if (read)
    fuzz::useCheckpoint(*builder.finish(""));
  else
    fuzz::checkError(read.error());
  return 0;
}
