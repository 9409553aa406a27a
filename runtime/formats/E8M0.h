//===- E8M0.h - Powers of two as scales of groups -------------------------===//
//
// OCP "Microscaling Formats (MX) Specification" 1.0, 5.4.1: eight bits of exponent only, 2^(e - 127). 0xff is NaN.
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace ingot {

constexpr bool isE8M0NaN(uint8_t code) { return code == 0xff; }

/// Returns the exact number of a code; the smallest, 2^-127, is subnormal. 0xff gives NaN.
constexpr float f32FromE8M0(uint8_t code) {
  const uint32_t bits = isE8M0NaN(code) ? 0x7fc00000u
                        : code == 0     ? 0x00400000u
                                        : static_cast<uint32_t>(code) << 23;
  return std::bit_cast<float>(bits);
}

} // namespace ingot
