//===- MatrixMath.h - Numeric formats and MMAs of tensor cores -------------===//
//
// Sums are plain f32 fused multiply-adds in order of k. A real tensor core adds several products at once and
// truncates, so results must be compared with tolerances.
//===----------------------------------------------------------------------===//
#pragma once

#include "emulator/host/KernelEntries.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace ingot::emulator {

inline float fromBf16(uint16_t v) { return std::bit_cast<float>(uint32_t(v) << 16); }
inline float fromF16(uint16_t v) { return float(std::bit_cast<_Float16>(v)); }
inline float fromE4M3(uint8_t v) {
  const uint32_t magnitude = v & 0x7f;
  const float value = magnitude == 0x7f ? std::bit_cast<float>(0x7fffffffu)
                                        : std::bit_cast<float>(magnitude << 20) * 0x1p+120f;
  return v & 0x80 ? -value : value;
}

/// Values per register: two of 16 bits or four of 8.
constexpr int valuesPerWord(emu::Product kind) {
  return kind == emu::Product::S8 || kind == emu::Product::E4M3 ? 4 : 2;
}
inline void unpack(emu::Product kind, uint32_t word, float *values) {
  switch (kind) {
  case emu::Product::Bf16:
    values[0] = fromBf16(uint16_t(word));
    values[1] = fromBf16(uint16_t(word >> 16));
    return;
  case emu::Product::F16:
    values[0] = fromF16(uint16_t(word));
    values[1] = fromF16(uint16_t(word >> 16));
    return;
  case emu::Product::S8: // a float's 24 bits hold the exact sum of 32 products of 14 bits
    for (int i = 0; i < 4; i++)
      values[i] = float(int8_t(word >> (8 * i)));
    return;
  case emu::Product::E4M3:
    for (int i = 0; i < 4; i++)
      values[i] = fromE4M3(uint8_t(word >> (8 * i)));
    return;
  }
}

using Eight = float __attribute__((vector_size(32)));

/// sums[16][8] += a[16][K] * b[K][8].
template <int K> void multiplyTile(Eight (&sums)[16], const float (*a)[32], const Eight *b) {
  for (int half = 0; half < 16; half += 8) { // eight sums stay in registers
    Eight s[8];
    for (int row = 0; row < 8; row++)
      s[row] = sums[half + row];
    for (int k = 0; k < K; k++)
      for (int row = 0; row < 8; row++)
        s[row] += a[half + row][k] * b[k];
    for (int row = 0; row < 8; row++)
      sums[half + row] = s[row];
  }
}

} // namespace ingot::emulator
