//===- EngineFuzzer.cpp - Arbitrary bytes as an engine --------------------===//
//
// Nearly every mutation would fail a hash check, so the hashes are corrected first:
// those of header and table always, those of segments if their offsets and sizes are
// valid. Anything that the loader then accepts must be safe to describe and to map.
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/PickCode.h"
#include "runtime/device/cuda/StepShape.h"
#include "runtime/engine/CodeImage.h"
#include "runtime/engine/ElfImage.h"
#include "runtime/engine/Hash.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/Verify.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

using namespace ingot;
using namespace ingot::runtime;

namespace {

/// A page-aligned copy, padded to a whole page as engine files are.
struct Pages {
  explicit Pages(std::span<const uint8_t> input)
      : size(nextSegment(std::max<size_t>(input.size(), sizeof(EngineHeader)))),
        data(static_cast<std::byte *>(std::aligned_alloc(4096, size)), std::free) {
    std::memset(data.get(), 0, size);
    std::memcpy(data.get(), input.data(), input.size());
  }
  size_t size;
  std::unique_ptr<std::byte, void (*)(void *)> data;
  std::span<std::byte> span() const { return {data.get(), size}; }
};

void sealHeader(std::span<std::byte> file) {
  EngineHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.major = kFormatMajor;
  header.minor = kFormatMinor;
  header.flags = 0;
  header.fileSize = file.size();
  header.tableOffset = sizeof header;
  header.tableSize = std::clamp<uint64_t>(header.tableSize, 1, file.size() - sizeof header);
  if (file.size() == sizeof header)
    header.tableSize = 0;
  header.tableHash = hash128(file.subspan(sizeof header, header.tableSize));
  header.checksum = headerChecksum(header);
  std::memcpy(file.data(), &header, sizeof header);
}

/// Writes the right hashes into the table. The table's structure, offsets and sizes must be valid. FlatBuffers lets
/// tables share bytes, so a hash may overwrite another segment. Therefore all fields are found before the first is
/// written.
void sealSegments(std::span<std::byte> file, const fb::Engine &engine) {
  std::vector<std::pair<uint8_t *, uint64_t>> fields;
  for (const fb::Segment *segment : *engine.segments()) {
    Hash128 hash = hash128(file.subspan(segment->offset(), segment->size()));
    auto *table = reinterpret_cast<flatbuffers::Table *>(const_cast<fb::Segment *>(segment));
    fields.emplace_back(table->GetAddressOf(fb::Segment::VT_HASH_LO), hash.low);
    fields.emplace_back(table->GetAddressOf(fb::Segment::VT_HASH_HI), hash.high);
  }
  for (auto [field, value] : fields)
    if (field) // a default value is not stored
      std::memcpy(field, &value, sizeof value);
  sealHeader(file);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Pages raw({data, size});
  (void)EngineFile::fromMemory({raw.data.get(), size}, VerifyLevel::Everything);
  (void)parseElf({raw.data.get(), size}, "fuzzed");

  sealHeader(raw.span());
  auto table = verifyHeader(raw.span(), "fuzzed");
  auto engine =
      table ? verifyStructure(*table, "fuzzed") : Result<const fb::Engine *>(table.error());
  if (!engine)
    return 0;
  if (verifyPlaces(raw.span(), **engine, "fuzzed"))
    sealSegments(raw.span(), **engine);
  auto file = EngineFile::fromMemory(raw.span(), VerifyLevel::Table);
  if (!file)
    return 0;
  if (inspectText(**file, {}).empty() || inspectJson(**file, {}).empty() ||
      inspectHtml(**file, {}).empty())
    std::abort();
  for (const fb::Program *program : *(*file)->table().programs()) {
    for (const fb::Weight *weight : *program->weights())
      if ((*file)->weightData(*weight).empty() != (weight->source() == fb::WeightSource::Seed))
        std::abort();
    if (deviceKind(*program) == DeviceKind::Cpu)
      for (const fb::CodeObject *code : *program->code())
        (void)CodeImage::map(*file, *code);
  }
  // Compute what an executor derives from GPU code, for small and for absurdly large steps.
  (void)cuda::pickGpuCode((*file)->table(), {"", 90}, false);
  for (const fb::Program *program : *(*file)->table().programs())
    for (const fb::CodeObject *code : *program->code())
      for (unsigned k = 0; code->variants() && k < code->variants()->size(); ++k)
        for (uint64_t tokens : {uint64_t(0), uint64_t(1), uint64_t(500), ~uint64_t(0)}) {
          const fb::KernelVariants &list = *code->variants()->Get(k);
          cuda::StepShape shape{tokens, tokens, tokens, tokens, tokens, tokens};
          for (uint32_t variant : cuda::variantsFor(list, shape))
            (void)cuda::launchOf(*list.variants()->Get(variant), shape);
        }
  return 0;
}
