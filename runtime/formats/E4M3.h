//===- E4M3.h - The 8-bit float of fp8 weights ----------------------------===//
//
// OCP "8-bit Floating Point Specification": sign, 4 bits of exponent (bias 7), 3 of mantissa. There are no infinities:
// the largest value is 448, and 0x7f and 0xff are NaN. Below 2^-6, values are 2^-9 apart.
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace ingot {

constexpr float kE4M3Largest = 448;

constexpr bool isE4M3NaN(uint8_t code) { return (code & 0x7f) == 0x7f; }

/// Returns the exact value of a code that is not NaN. The bits of the code, moved to the corresponding positions of an
/// f32, give the value times 2^-120.
constexpr float f32FromE4M3(uint8_t code) {
  float magnitude = std::bit_cast<float>(static_cast<uint32_t>(code & 0x7f) << 20) * 0x1p+120f;
  return code & 0x80 ? -magnitude : magnitude;
}

/// Returns the nearest code, ties to even. Magnitudes above 448 become 448. `value` must not be NaN.
constexpr uint8_t e4m3FromF32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 24 & 0x80;
  float magnitude = std::bit_cast<float>(bits & 0x7fffffff);
  if (!(magnitude < kE4M3Largest))
    return static_cast<uint8_t>(sign | 0x7e);
  if (magnitude < 0x1p-6f) // adding 2^14 leaves steps of 2^-9, rounded to even
    return static_cast<uint8_t>(sign | (std::bit_cast<uint32_t>(magnitude + 0x1p+14f) & 0xf));
  uint32_t rounded = (bits & 0x7fffffff) + 0x7ffff + (bits >> 20 & 1);
  return static_cast<uint8_t>(sign | ((rounded >> 20) - (120 << 3)));
}

} // namespace ingot
