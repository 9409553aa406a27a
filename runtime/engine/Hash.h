//===- Hash.h - The hashes of an engine file ------------------------------===//
//
// XXH3 finds damage at memory speed (a flipped bit, a cut, a misplaced block). It
// is no protection against somebody who means harm.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Header.h"

#include <span>

namespace ingot::runtime {

Hash128 hash128(std::span<const std::byte> bytes);

/// Of everything in the header before the checksum itself.
uint64_t headerChecksum(const EngineHeader &header);

/// Whether all bytes are zero.
bool isZero(std::span<const std::byte> bytes);

} // namespace ingot::runtime
