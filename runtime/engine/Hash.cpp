//===- Hash.cpp - See Hash.h ----------------------------------------------===//
#include "runtime/engine/Hash.h"

#include <algorithm>
#include <xxhash.h>

namespace ingot::runtime {

Hash128 hash128(std::span<const std::byte> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

uint64_t headerChecksum(const EngineHeader &header) {
  return XXH3_64bits(&header, offsetof(EngineHeader, checksum));
}

bool isZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

} // namespace ingot::runtime
