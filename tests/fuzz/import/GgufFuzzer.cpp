//===- GgufFuzzer.cpp - Any bytes as a GGUF file --------------------------===//
#include "compiler/import/config/DraftBlocks.h"
#include "compiler/import/config/Wrapper.h"
#include "compiler/import/containers/Gguf.h"
#include "tests/fuzz/import/UseCheckpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace ingot;
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  import::CheckpointBuilder builder(import::Container::Gguf);
  Result<void> read = import::readGguf(file, "fuzz.gguf", builder);
  if (!read) {
    fuzz::checkError(read.error());
  } else {
    import::unwrapGguf(builder);
    import::setDraftBlocksAside(builder);
    fuzz::useCheckpoint(*builder.finish(""));
  }
  for (bool first : {true, false}) {
    import::CheckpointBuilder parts(import::Container::Gguf);
    Result<import::GgufPart> part = import::readGgufPart(file, "fuzz.gguf", first, parts);
    if (part)
      fuzz::useCheckpoint(*parts.finish(""));
    else
      fuzz::checkError(part.error());
  }
  return 0;
}
