//===- SafetensorsFuzzer.cpp - Any bytes as a safetensors file or index ---===//
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/containers/Safetensors.h"
#include "compiler/import/containers/SafetensorsIndex.h"
#include "compiler/import/methods/Quantized.h"
#include "tests/fuzz/import/UseCheckpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace ingot;
  import::CheckpointBuilder builder(import::Container::Safetensors);
  if (size % 2) // only a wrapper's towers are left out
    builder.setWrapper();
  auto names = import::readSafetensors(std::as_bytes(std::span(data, size)), "fuzz", builder);
  if (!names)
    fuzz::checkError(names.error());
  else if (Result<void> scaled = import::readQuantized(builder); !scaled)
    fuzz::checkError(scaled.error());
  else if (Result<void> plain = import::unwrapTensors(builder); !plain)
    fuzz::checkError(plain.error());
  else
    fuzz::useCheckpoint(*builder.finish(""));

  std::string_view text(reinterpret_cast<const char *>(data), size);
  Result<import::SafetensorsIndex> index = import::readSafetensorsIndex(text, "fuzz");
  if (!index)
    fuzz::checkError(index.error());
  else
    for (const auto &[shard, tensors] : index->shards)
      if (shard.find('/') != std::string::npos || !index->compare(shard, tensors))
        std::abort();
  return 0;
}
