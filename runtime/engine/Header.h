//===- Header.h - The first 64 bytes of an engine file --------------------===//
//
// An engine file, from its first byte to its last:
//
//        0 +---------------------------------------------+
//          | header, 64 bytes                            |
//       64 +---------------------------------------------+
//          | table: one FlatBuffer (engine.fbs)          |  table_hash
//          | zeros up to a multiple of 4096              |
//          +---------------------------------------------+  segments[0].offset
//          | segment 0                                   |  segments[0].hash
//          | zeros up to a multiple of 4096              |
//          +---------------------------------------------+  segments[1].offset
//          | …                                           |
//          | the last segment, then zeros                |
//          +---------------------------------------------+  file_size, a multiple of 4096
//
// All positions follow from the sizes, so every byte is either hashed or known to be zero.
// Segments start on pages: code is mapped executable and weights are mapped read-only straight from
// the file.
//
// The header, little endian:
//
//    byte  0       8     10     12     16         24          32
//          +-------+-----+------+------+----------+-----------+-----------+
//          |INGOTENG|major|minor |flags |file size |table      |table size |
//          |       |u16  |u16   |u32 0 |u64       |offset u64 |u64        |
//          +-------+-----+------+------+----------+-----------+-----------+
//    byte 40                    56                 64
//          +--------------------+------------------+
//          |table hash, XXH3-128|XXH3-64 of 0…55   |
//          |low u64, high u64   |u64               |
//          +--------------------+------------------+
//
// The magic and the version never change their place. A reader accepts files of its own major
// version and of minor versions up to its own. A file carries the lowest minor version that can
// read it:
//
//    2.0   programs separate from the engine, states, entries, cases (engine.fbs)
//
// Files of version 1.x were made by ingot 0.1. They are rejected.
//
// The hashes detect damage, not attacks: an engine contains native code, so run only engines that
// you built.
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ingot::runtime {

constexpr char kMagic[8] = {'I', 'N', 'G', 'O', 'T', 'E', 'N', 'G'};
constexpr uint16_t kFormatMajor = 2;
constexpr uint16_t kFormatMinor = 0;
constexpr uint64_t kSegmentAlignment = 4096;
constexpr uint64_t kWeightAlignment = 64;

struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128 &) const = default;
};

struct EngineHeader {
  char magic[8];
  uint16_t major, minor;
  uint32_t flags; ///< none is defined, so always 0
  uint64_t fileSize;
  uint64_t tableOffset; ///< 64
  uint64_t tableSize;
  Hash128 tableHash;
  uint64_t checksum; ///< XXH3-64 of the 56 bytes before it
};
static_assert(sizeof(EngineHeader) == 64 && offsetof(EngineHeader, fileSize) == 16 &&
              offsetof(EngineHeader, tableHash) == 40 && offsetof(EngineHeader, checksum) == 56 &&
              std::is_trivially_copyable_v<EngineHeader>);
static_assert(std::endian::native == std::endian::little, "headers are copied as they lie");

/// `offset` rounded up to the next page of the file.
constexpr uint64_t nextSegment(uint64_t offset) {
  return (offset + kSegmentAlignment - 1) & ~(kSegmentAlignment - 1);
}

} // namespace ingot::runtime
