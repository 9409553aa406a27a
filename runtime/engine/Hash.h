//===- Hash.h - The hashes of an engine file ------------------------------===//
//
// XXH3 finds damage at memory speed (a flipped bit, a truncation, a misplaced block). It does not
// protect against an attacker.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Header.h"

#include <span>

namespace ingot::runtime {

Hash128 hash128(std::span<const std::byte> bytes);

/// Returns the hash of the header's bytes that precede the checksum itself.
uint64_t headerChecksum(const EngineHeader &header);

/// Returns whether all bytes are zero.
bool isZero(std::span<const std::byte> bytes);

} // namespace ingot::runtime
