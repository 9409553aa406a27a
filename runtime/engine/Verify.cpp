//===- Verify.cpp - Header, structure and segments ------------------------===//
//
// Checks that must pass before the table's own lists can be read. The other parts: VerifyParts.cpp
// (kernels, code, buffers, weights, states), VerifyModel.cpp (model, text) and VerifyProgram.cpp
// (sections, steps, launches).
//===----------------------------------------------------------------------===//
#include "runtime/engine/Verify.h"

#include "runtime/engine/Hash.h"
#include "runtime/engine/Program.h"

#include <cstdio>

namespace ingot::runtime {

using std::to_string;

Error damaged(const char *code, const std::string &name, const std::string &why) {
  return {ExitCode::File, code, name + " is damaged", why, "rebuild it: ingot compile MODEL -o E"};
}

static std::string hex(Hash128 hash) {
  char text[40];
  std::snprintf(text, sizeof text, "0x%016llx%016llx", (unsigned long long)hash.high,
                (unsigned long long)hash.low);
  return text;
}

/// Names the file types that users mistake for an engine.
static Error notAnEngine(std::span<const std::byte> file, const std::string &name) {
  Error error{ExitCode::File, "E0304", name + " is not an engine",
              "it does not start with INGOTENG",
              "create one from a checkpoint: ingot compile MODEL -o E"};
  if (std::memcmp(file.data(), "GGUF", 4) == 0) {
    error.why = "it is a GGUF checkpoint";
    error.fix = "ingot compile " + name + " -o E";
  }
  return error;
}

Result<std::span<const std::byte>> verifyHeader(std::span<const std::byte> file,
                                                const std::string &name) {
  EngineHeader header;
  if (file.size() < sizeof header)
    return damaged("E0303", name,
                   "it has " + to_string(file.size()) + " bytes; the header alone needs 64");
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return notAnEngine(file, name);
  if (header.major == 1)
    return Error{ExitCode::File, "E0305", name + " was made by ingot 0.1",
                 "its format is 1." + to_string(header.minor) + ", this ingot reads " +
                     to_string(kFormatMajor) + "." + to_string(kFormatMinor),
                 "compile it again: ingot compile MODEL -o " + name};
  if (header.major != kFormatMajor || header.minor > kFormatMinor)
    return Error{ExitCode::File, "E0305", name + " was written by another version of ingot",
                 "its format is " + to_string(header.major) + "." + to_string(header.minor) +
                     ", this ingot reads " + to_string(kFormatMajor) + ".0 to " +
                     to_string(kFormatMajor) + "." + to_string(kFormatMinor),
                 "rebuild it with this ingot: ingot compile MODEL -o " + name};
  if (headerChecksum(header) != header.checksum)
    return damaged("E0306", name, "the checksum of its header is wrong");
  if (header.fileSize != file.size())
    return damaged("E0307", name,
                   "it has " + to_string(file.size()) + " bytes, " + to_string(header.fileSize) +
                       " were written");
  if (header.flags != 0)
    return damaged("E0308", name, "its header has unknown flags " + to_string(header.flags));
  if (header.tableOffset != sizeof header || header.tableSize == 0 ||
      header.tableSize > file.size() - sizeof header)
    return damaged("E0309", name,
                   "its table of " + to_string(header.tableSize) + " bytes at " +
                       to_string(header.tableOffset) + " is misplaced");
  std::span<const std::byte> table = file.subspan(header.tableOffset, header.tableSize);
  if (Hash128 found = hash128(table); found != header.tableHash)
    return damaged("E0310", name,
                   "table: hash " + hex(found) + " differs from " + hex(header.tableHash));
  return table;
}

Result<const fb::Engine *> verifyStructure(std::span<const std::byte> table,
                                           const std::string &name) {
  auto isValid = [&] { // the verifier asserts that the table is not too large
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(table.data()), table.size(),
                                   /*max_depth=*/64, /*max_tables=*/1'000'000);
    return fb::VerifyEngineBuffer(verifier);
  };
  if (table.size() < 16 || table.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !isValid())
    return damaged("E0311", name,
                   "the table of " + to_string(table.size()) +
                       " bytes is not a valid engine table");
  return fb::GetEngine(table.data());
}

Result<void> verifyPlaces(std::span<const std::byte> file, const fb::Engine &engine,
                          const std::string &name) {
  EngineHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  uint64_t fileSize = file.size();
  unsigned index = 0;
  uint64_t end = sizeof header + header.tableSize; // end of the previous segment, or of the table
  for (const fb::Segment *segment : *engine.segments()) {
    auto bad = [&](const char *code, const std::string &why) {
      return damaged(code, name,
                     "segment " + to_string(index) + " (" +
                         fb::EnumNameSegmentKind(segment->kind()) + "): " + why);
    };
    uint64_t offset = segment->offset(), size = segment->size();
    if (segment->kind() > fb::SegmentKind::MAX)
      return bad("E0315", "its kind " + to_string(int(segment->kind())) + " is unknown");
    if (offset % kSegmentAlignment != 0)
      return bad("E0316", "its offset " + to_string(offset) + " is not a multiple of 4096");
    if (size == 0)
      return bad("E0320", "it is empty");
    if (offset > fileSize || size > fileSize - offset)
      return bad("E0317", to_string(size) + " bytes at " + to_string(offset) +
                              " extend beyond the file's " + to_string(fileSize));
    if (offset < end)
      return bad("E0318", "it starts at " + to_string(offset) +
                              ", inside the segment that ends at " + to_string(end));
    if (offset != nextSegment(end))
      return bad("E0319", "it starts at " + to_string(offset) + " instead of " +
                              to_string(nextSegment(end)));
    end = offset + size;
    ++index;
  }
  if (fileSize != nextSegment(end))
    return damaged("E0321", name,
                   "its last segment ends at " + to_string(end) + ", the file at " +
                       to_string(fileSize));
  return {};
}

Result<void> verifyHashes(std::span<const std::byte> file, const fb::Engine &engine,
                          VerifyLevel level, const std::string &name) {
  EngineHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  uint64_t end = sizeof header + header.tableSize;
  auto checkPadding = [&](uint64_t from, uint64_t to) -> Result<void> {
    if (!isZero(file.subspan(from, to - from)))
      return damaged("E0313", name,
                     "the padding between " + to_string(from) + " and " + to_string(to) +
                         " is not zero");
    return {};
  };
  unsigned index = 0;
  for (const fb::Segment *segment : *engine.segments()) {
    if (Result<void> ok = checkPadding(end, segment->offset()); !ok)
      return ok;
    end = segment->offset() + segment->size();
    // Weights are the bulk of the file: only VerifyLevel::Everything reads all of them.
    if (segment->kind() != fb::SegmentKind::Weights || level == VerifyLevel::Everything) {
      Hash128 found = hash128(file.subspan(segment->offset(), segment->size()));
      if (Hash128 written{segment->hash_lo(), segment->hash_hi()}; found != written)
        return damaged("E0312", name,
                       "segment " + to_string(index) + " (" +
                           fb::EnumNameSegmentKind(segment->kind()) + "): hash " + hex(found) +
                           " differs from " + hex(written));
    }
    ++index;
  }
  return checkPadding(end, file.size());
}

/// Checks that there is at most one program of each kind, and that the CPU program is first.
static Result<void> verifyPrograms(const fb::Engine &engine, const std::string &name) {
  if (engine.programs()->size() == 0)
    return damaged("E0801", name, "it has no program");
  for (unsigned i = 0; i < engine.programs()->size(); ++i) {
    const DeviceKind kind = deviceKind(*engine.programs()->Get(i));
    if (i > 1 || (i == 1 && kind == deviceKind(*engine.programs()->Get(0))))
      return damaged("E0801", name, "it has two programs for one kind of device");
    if (i == 1 && kind == DeviceKind::Cpu)
      return damaged("E0801", name, "its program for CPUs is not the first");
  }
  return {};
}

Result<void> verifyMeaning(std::span<const std::byte> file, const fb::Engine &engine,
                           VerifyLevel level, const std::string &name) {
  if (Result<void> ok = verifyPlaces(file, engine, name); !ok)
    return ok;
  if (Result<void> ok = verifyHashes(file, engine, level, name); !ok)
    return ok;
  if (Result<void> ok = verifyModel(engine, name); !ok)
    return ok;
  if (Result<void> ok = verifyPrograms(engine, name); !ok)
    return ok;
  for (const fb::Program *program : *engine.programs()) {
    if (Result<void> ok = verifyParts(file, engine, *program, name); !ok)
      return ok;
    if (Result<void> ok = verifyProgram(*program, engine, name); !ok)
      return ok;
  }
  return {};
}

} // namespace ingot::runtime
