//===- Bf16.h - Rounding to bf16, for tests ----------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace ingot {

inline float fromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Rounds a finite value to nearest, ties to even.
inline uint16_t toBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace ingot
