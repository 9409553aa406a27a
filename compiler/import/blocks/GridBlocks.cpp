//===- GridBlocks.cpp - See GridBlocks.h -----------------------------------===//
#include "compiler/import/blocks/GridBlocks.h"
#include "runtime/formats/Grids.h"

#include <bit>
#include <cstring>

namespace ingot::import {

namespace {

template <typename T> T load(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Writes the values of a grid entry as codes, each with a bit of `signs`.
template <int Count> void putEntry(uint16_t entry, int signs, uint8_t *q) {
  constexpr int kBits = Count == 8 ? 2 : 3;
  for (int i = 0; i < Count; ++i)
    q[i] =
        static_cast<uint8_t>((entry >> (kBits * i) & ((1 << kBits) - 1)) | (signs >> i & 1) << 3);
}

/// Returns eight sign bits, of which the lower seven are given.
int signsOf(uint32_t seven) {
  seven &= 127;
  return static_cast<int>(seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7);
}

int16_t subScale(int s) { return static_cast<int16_t>(2 * s + 1); }

} // namespace

void unpackIQ2XXS(const uint8_t *block, BlockParts &parts) {
  parts.d *= 0.125f;
  for (int g = 0; g < 8; ++g) {
    const uint8_t *index = block + 2 + 8 * g;
    const auto rest = load<uint32_t>(index + 4);
    parts.s[g] = subScale(static_cast<int>(rest >> 28));
    for (int i = 0; i < 4; ++i)
      putEntry<8>(kGridIq2Xxs[index[i]], signsOf(rest >> 7 * i), parts.q + 32 * g + 8 * i);
  }
}

void unpackIQ2XS(const uint8_t *block, BlockParts &parts) {
  parts.d *= 0.125f;
  for (int i = 0; i < 32; ++i) {
    const auto entry = load<uint16_t>(block + 2 + 2 * i);
    putEntry<8>(kGridIq2Xs[entry & 511], signsOf(entry >> 9), parts.q + 8 * i);
  }
  for (int g = 0; g < 16; ++g)
    parts.s[g] = subScale(block[66 + g / 2] >> (4 * (g % 2)) & 15);
}

void unpackIQ2S(const uint8_t *block, BlockParts &parts) {
  const uint8_t *qs = block + 2, *signs = block + 34, *qh = block + 66, *scales = block + 74;
  parts.d *= 0.125f;
  for (int i = 0; i < 32; ++i)
    putEntry<8>(kGridIq2S[qs[i] | (qh[i / 4] >> (2 * (i % 4)) & 3) << 8], signs[i],
                parts.q + 8 * i);
  for (int g = 0; g < 16; ++g)
    parts.s[g] = subScale(scales[g / 2] >> (4 * (g % 2)) & 15);
}

void unpackIQ3XXS(const uint8_t *block, BlockParts &parts) {
  parts.d *= 0.25f;
  for (int g = 0; g < 8; ++g) {
    const uint8_t *index = block + 2 + 8 * g;
    const auto rest = load<uint32_t>(block + 66 + 4 * g);
    parts.s[g] = subScale(static_cast<int>(rest >> 28));
    for (int i = 0; i < 8; ++i)
      putEntry<4>(kGridIq3Xxs[index[i]], signsOf(rest >> 7 * (i / 2)) >> (4 * (i % 2)),
                  parts.q + 32 * g + 4 * i);
  }
}

void unpackIQ3S(const uint8_t *block, BlockParts &parts) {
  const uint8_t *qs = block + 2, *qh = block + 66, *signs = block + 74, *scales = block + 106;
  for (int i = 0; i < 64; ++i)
    putEntry<4>(kGridIq3S[qs[i] | (qh[i / 8] >> (i % 8) & 1) << 8], signs[i / 2] >> (4 * (i % 2)),
                parts.q + 4 * i);
  for (int g = 0; g < 8; ++g)
    parts.s[g] = subScale(scales[g / 2] >> (4 * (g % 2)) & 15);
}

void unpackIQ1S(const uint8_t *block, BlockParts &parts) {
  parts.d *= 0.125f;
  for (int g = 0; g < 8; ++g) {
    const auto qh = load<uint16_t>(block + 34 + 2 * g);
    parts.s[g] = subScale(qh >> 12 & 7);
    for (int i = 0; i < 4; ++i)
      putEntry<8>(kGridIq1[block[2 + 4 * g + i] | (qh >> 3 * i & 7) << 8], qh & 0x8000 ? 255 : 0,
                  parts.q + 32 * g + 8 * i);
  }
}

void unpackIQ1M(const uint8_t *block, BlockParts &parts) {
  const uint8_t *qh = block + 32, *scales = block + 48;
  int d = 0;
  for (int i = 0; i < 4; ++i)
    d |= load<uint16_t>(scales + 2 * i) >> 12 << (4 * i);
  parts.d = f16ToF32(static_cast<uint16_t>(d)) * 0.125f;
  for (int i = 0; i < 32; ++i) {
    const int upper = qh[i / 2] >> (4 * (i % 2));
    putEntry<8>(kGridIq1[block[i] | (upper & 7) << 8], upper & 8 ? 255 : 0, parts.q + 8 * i);
  }
  for (int g = 0; g < 16; ++g)
    parts.s[g] = subScale(load<uint16_t>(scales + g / 4 * 2) >> (3 * (g % 4)) & 7);
}

} // namespace ingot::import
