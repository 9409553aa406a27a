//===- Codes.cpp - GGUF's block packings ----------------------------------===//
#include "compiler/import/blocks/Codes.h"
#include "compiler/import/blocks/GridBlocks.h"
#include "runtime/formats/E8M0.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

namespace ingot::import {

float f16ToF32(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  if (magnitude >= 0x0400) // normal: re-bias the exponent from 15 to 127
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  // Denormal or zero: the mantissa is a multiple of 2^-24, which f32 represents exactly.
  float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

namespace {

const uint8_t *asBytes(const std::byte *p) { return reinterpret_cast<const uint8_t *>(p); }

uint16_t loadU16(const uint8_t *p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

uint32_t loadU32(const uint8_t *p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

/// Unpacks 32 codes of 4 bits: the low nibbles are the first half, the high ones the second.
void unpackNibbles32(const uint8_t *qs, uint8_t *q) {
  for (int j = 0; j < 16; ++j) {
    q[j] = qs[j] & 0x0F;
    q[16 + j] = qs[j] >> 4;
  }
}

void addFifthBits(uint32_t qh, uint8_t *q) {
  for (int j = 0; j < 32; ++j)
    q[j] |= static_cast<uint8_t>((qh >> j & 1) << 4);
}

/// Unpacks the twelve bytes of Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minima. The lower six bits of bytes
/// 0-3 are the first four scales, and the lower six bits of bytes 4-7 are the first four minima. The upper two bits of
/// bytes 0-7 are the upper bits of the last four scales and minima. The lower nibbles of these scales and minima are in
/// bytes 8-11.
void unpackSubScales(const uint8_t *sc, BlockParts &parts) {
  for (int j = 0; j < 4; ++j) {
    parts.s[j] = sc[j] & 0x3F;
    parts.t[j] = sc[4 + j] & 0x3F;
    parts.s[4 + j] = (sc[8 + j] & 0x0F) | (sc[j] >> 2 & 0x30);
    parts.t[4 + j] = static_cast<uint8_t>(sc[8 + j] >> 4 | (sc[4 + j] >> 2 & 0x30));
  }
}

void unpackNibbles256(const uint8_t *qs, uint8_t *q) {
  for (int pair = 0; pair < 4; ++pair)
    for (int j = 0; j < 32; ++j) {
      q[64 * pair + j] = qs[32 * pair + j] & 0x0F;
      q[64 * pair + 32 + j] = qs[32 * pair + j] >> 4;
    }
}

void unpackQ6K(const uint8_t *block, BlockParts &parts) {
  const uint8_t *ql = block, *qh = block + 128, *scales = block + 192;
  for (int half = 0; half < 2; ++half, ql += 64, qh += 32) {
    uint8_t *q = parts.q + 128 * half;
    for (int j = 0; j < 32; ++j) {
      q[j] = (ql[j] & 0x0F) | (qh[j] & 3) << 4;
      q[32 + j] = (ql[32 + j] & 0x0F) | (qh[j] >> 2 & 3) << 4;
      q[64 + j] = ql[j] >> 4 | (qh[j] >> 4 & 3) << 4;
      q[96 + j] = ql[32 + j] >> 4 | (qh[j] >> 6 & 3) << 4;
    }
  }
  for (int j = 0; j < 16; ++j)
    parts.s[j] = static_cast<int8_t>(scales[j]);
}

/// Unpacks the 2-bit fields of Q2_K and Q3_K: 32 bytes hold 128 codes, as four consecutive runs of 32.
void unpackPairs256(const uint8_t *qs, uint8_t *q) {
  for (int k = 0; k < 256; ++k)
    q[k] = qs[k / 128 * 32 + k % 32] >> (2 * (k % 128 / 32)) & 3;
}

void unpackQ2K(const uint8_t *block, BlockParts &parts) {
  unpackPairs256(block + 16, parts.q);
  for (int j = 0; j < 16; ++j) {
    parts.s[j] = block[j] & 0x0F;
    parts.t[j] = block[j] >> 4;
  }
}

/// Unpacks the codes and the sixteen 6-bit scales of Q3_K. The low nibbles of the scales are in bytes 0-7 (low first),
/// and their upper two bits are in bytes 8-11.
void unpackQ3K(const uint8_t *block, BlockParts &parts) {
  const uint8_t *sc = block + 96;
  unpackPairs256(block + 32, parts.q);
  for (int k = 0; k < 256; ++k)
    parts.q[k] |= static_cast<uint8_t>((block[k % 32] >> k / 32 & 1) << 2);
  for (int j = 0; j < 16; ++j) {
    const int low = sc[j % 8] >> (4 * (j / 8)) & 15, high = sc[8 + j % 4] >> (2 * (j / 4)) & 3;
    parts.s[j] = static_cast<int16_t>((low | high << 4) - 32);
  }
}

/// Unpacks `Bytes` bytes of `Each` base-3 digits. A byte stores its digits as a fraction: the first digit is the
/// integer part of 3 * byte / 256.
template <int Bytes, int Each> void unpackTrits(const uint8_t *from, uint8_t *q) {
  for (int i = 0; i < Bytes; ++i) {
    uint8_t rest = from[i];
    for (int t = 0; t < Each; ++t, rest = static_cast<uint8_t>(rest * 3))
      q[t * Bytes + i] = static_cast<uint8_t>(rest * 3 >> 8);
  }
}

void unpackIQ4XS(const uint8_t *block, BlockParts &parts) {
  const int high = loadU16(block + 2);
  for (int g = 0; g < 8; ++g) {
    const int low = block[4 + g / 2] >> (4 * (g % 2)) & 15;
    parts.s[g] = static_cast<int16_t>((low | (high >> 2 * g & 3) << 4) - 32);
    unpackNibbles32(block + 8 + 16 * g, parts.q + 32 * g);
  }
}

/// Unpacks the blocks that the readers of safetensors produce.
template <int Bits, int Values, int ScaleBytes, int ZeroBytes>
void unpackGrouped(const uint8_t *block, BlockParts &parts) {
  if (ZeroBytes == 1)
    parts.t[0] = block[ScaleBytes];
  const uint8_t *codes = block + ScaleBytes + ZeroBytes;
  for (int k = 0; k < Values; ++k)
    parts.q[k] = Bits == 8 ? codes[k] : codes[k / 2] >> (4 * (k % 2)) & 15;
}

template <int Bits, int Values, StoredScale Scale, bool Zeros>
constexpr StoredBlock grouped(WeightFormat format) {
  constexpr int kScaleBytes = Scale == StoredScale::F32 ? 4 : 2;
  return {format, Values, kScaleBytes + Zeros + Values * Bits / 8,         0,
          -1,     Scale,  unpackGrouped<Bits, Values, kScaleBytes, Zeros>, true};
}
/// Unpacks a block with a minimum of the same type as the scale.
template <int Bits, int Values, StoredScale Scale>
constexpr StoredBlock groupedAbove(WeightFormat format) {
  return {format, Values, 4 + Values * Bits / 8, 0, 2, Scale, unpackGrouped<Bits, Values, 2, 2>,
          true};
}

constexpr StoredScale F16 = StoredScale::F16, BF16 = StoredScale::BF16, F32 = StoredScale::F32;

constexpr StoredBlock kBlocks[] = {
    // format, values, bytes, offsets of d and m, type of d
    {WeightFormat::Q4_0, 32, 2 + 16, 0, -1, F16,
     [](const uint8_t *block, BlockParts &parts) { unpackNibbles32(block + 2, parts.q); }},
    {WeightFormat::Q4_1, 32, 2 + 2 + 16, 0, 2, F16,
     [](const uint8_t *block, BlockParts &parts) { unpackNibbles32(block + 4, parts.q); }},
    {WeightFormat::Q5_0, 32, 2 + 4 + 16, 0, -1, F16,
     [](const uint8_t *block, BlockParts &parts) {
       unpackNibbles32(block + 6, parts.q);
       addFifthBits(loadU32(block + 2), parts.q);
     }},
    {WeightFormat::Q5_1, 32, 2 + 2 + 4 + 16, 0, 2, F16,
     [](const uint8_t *block, BlockParts &parts) {
       unpackNibbles32(block + 8, parts.q);
       addFifthBits(loadU32(block + 4), parts.q);
     }},
    {WeightFormat::Q8_0, 32, 2 + 32, 0, -1, F16,
     [](const uint8_t *block, BlockParts &parts) {
       for (int j = 0; j < 32; ++j)
         parts.q[j] = block[2 + j] ^ 0x80; // w + 128
     }},
    {WeightFormat::Q2_K, 256, 16 + 64 + 2 + 2, 80, 82, F16, unpackQ2K},
    {WeightFormat::Q3_K, 256, 32 + 64 + 12 + 2, 108, -1, F16, unpackQ3K},
    {WeightFormat::Q4_K, 256, 2 + 2 + 12 + 128, 0, 2, F16,
     [](const uint8_t *block, BlockParts &parts) {
       unpackSubScales(block + 4, parts);
       unpackNibbles256(block + 16, parts.q);
     }},
    {WeightFormat::Q5_K, 256, 2 + 2 + 12 + 32 + 128, 0, 2, F16,
     [](const uint8_t *block, BlockParts &parts) {
       unpackSubScales(block + 4, parts);
       unpackNibbles256(block + 48, parts.q);
       for (int k = 0; k < 256; ++k)
         parts.q[k] |= static_cast<uint8_t>((block[16 + k % 32] >> k / 32 & 1) << 4);
     }},
    {WeightFormat::Q6_K, 256, 128 + 64 + 16 + 2, 208, -1, F16, unpackQ6K},
    {WeightFormat::IQ4_NL, 32, 2 + 16, 0, -1, F16,
     [](const uint8_t *block, BlockParts &parts) { unpackNibbles32(block + 2, parts.q); }},
    {WeightFormat::IQ4_XS, 256, 2 + 2 + 4 + 128, 0, -1, F16, unpackIQ4XS},
    {WeightFormat::IQ3_S, 256, 2 + 64 + 8 + 32 + 4, 0, -1, F16, unpackIQ3S},
    {WeightFormat::IQ3_XXS, 256, 2 + 64 + 32, 0, -1, F16, unpackIQ3XXS},
    {WeightFormat::IQ2_S, 256, 2 + 32 + 32 + 8 + 8, 0, -1, F16, unpackIQ2S},
    {WeightFormat::IQ2_XS, 256, 2 + 64 + 8, 0, -1, F16, unpackIQ2XS},
    {WeightFormat::IQ2_XXS, 256, 2 + 64, 0, -1, F16, unpackIQ2XXS},
    {WeightFormat::IQ1_S, 256, 2 + 32 + 16, 0, -1, F16, unpackIQ1S},
    {WeightFormat::IQ1_M, 256, 32 + 16 + 8, -1, -1, F16, unpackIQ1M},
    {WeightFormat::TQ2_0, 256, 64 + 2, 64, -1, F16,
     [](const uint8_t *block, BlockParts &parts) { unpackPairs256(block, parts.q); }},
    {WeightFormat::TQ1_0, 256, 48 + 4 + 2, 52, -1, F16,
     [](const uint8_t *block, BlockParts &parts) {
       unpackTrits<32, 5>(block, parts.q);
       unpackTrits<16, 5>(block + 32, parts.q + 160);
       unpackTrits<4, 4>(block + 48, parts.q + 240);
     }},
    {WeightFormat::Q2_0, 64, 2 + 16, 0, -1, F16,
     [](const uint8_t *block, BlockParts &parts) {
       for (int k = 0; k < 64; ++k)
         parts.q[k] = block[2 + k / 4] >> (2 * (k % 4)) & 3;
     }},
    {WeightFormat::Q1_0, 128, 2 + 16, 0, -1, F16,
     [](const uint8_t *block, BlockParts &parts) {
       for (int k = 0; k < 128; ++k)
         parts.q[k] = static_cast<uint8_t>((block[2 + k / 8] >> (k % 8) & 1) << 1);
     }},
    {WeightFormat::Mxfp4, 32, 1 + 16, 0, -1, StoredScale::E8M0,
     [](const uint8_t *block, BlockParts &parts) { unpackNibbles32(block + 1, parts.q); }},
    {WeightFormat::Nvfp4, 256, 4 + 16 + 128, 0, -1, F32,
     [](const uint8_t *block, BlockParts &parts) {
       std::copy_n(block + 4, 16, parts.s);
       for (int k = 0; k < 256; ++k)
         parts.q[k] = block[20 + k / 2] >> (4 * (k % 2)) & 15;
     },
     true},
    grouped<4, 64, F32, false>(WeightFormat::Nf4),
    grouped<4, 64, F32, false>(WeightFormat::Fp4),
    grouped<4, 32, F16, false>(WeightFormat::Int4G32),
    grouped<4, 64, F16, false>(WeightFormat::Int4G64),
    grouped<4, 128, F16, false>(WeightFormat::Int4G128),
    grouped<8, 32, F16, false>(WeightFormat::Int8),
    grouped<4, 32, F16, true>(WeightFormat::Int4ZG32),
    grouped<4, 64, F16, true>(WeightFormat::Int4ZG64),
    grouped<4, 128, F16, true>(WeightFormat::Int4ZG128),
    grouped<4, 32, BF16, false>(WeightFormat::Int4BG32),
    grouped<4, 128, BF16, false>(WeightFormat::Int4BG128),
    grouped<4, 32, BF16, true>(WeightFormat::Int4ZBG32),
    grouped<4, 128, BF16, true>(WeightFormat::Int4ZBG128),
    grouped<4, 32, F32, true>(WeightFormat::Int4ZFG32),
    grouped<8, 128, F32, false>(WeightFormat::Int8F),
    grouped<8, 32, F32, true>(WeightFormat::Int8ZF),
    groupedAbove<4, 32, F16>(WeightFormat::Int4MG32),
    groupedAbove<4, 64, F16>(WeightFormat::Int4MG64),
    groupedAbove<8, 32, F16>(WeightFormat::Int8MG32),
    groupedAbove<4, 32, BF16>(WeightFormat::Int4MBG32),
    groupedAbove<4, 64, BF16>(WeightFormat::Int4MBG64),
    groupedAbove<8, 32, BF16>(WeightFormat::Int8MBG32),
};

float scaleAt(const uint8_t *from, StoredScale kind) {
  switch (kind) {
  case StoredScale::F16:
    return f16ToF32(loadU16(from));
  case StoredScale::BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(loadU16(from)) << 16);
  case StoredScale::F32:
    return std::bit_cast<float>(loadU32(from));
  case StoredScale::E8M0: // the table holds doubled values
    return 0.5f * f32FromE8M0(*from);
  }
  return 0;
}

} // namespace

const StoredBlock *storedBlock(WeightFormat format) {
  static constexpr auto kOfFormat = [] {
    std::array<const StoredBlock *, kWeightFormatCount> blocks{};
    for (const StoredBlock &block : kBlocks)
      blocks[static_cast<size_t>(block.format)] = &block;
    return blocks;
  }();
  assert(static_cast<size_t>(format) < kOfFormat.size() && "no format of the table");
  return kOfFormat[static_cast<size_t>(format)];
}

int64_t storedBlockValues(WeightFormat format) {
  const StoredBlock *block = storedBlock(format);
  return block ? block->values : 1;
}

int64_t storedBlockBytes(WeightFormat format) {
  const StoredBlock *block = storedBlock(format);
  return block ? block->bytes : numericFormat(format).bits / 8;
}

bool storesRowsOf(WeightFormat format, int64_t k) {
  const StoredBlock *block = storedBlock(format);
  return !block || block->endsAnywhere || k % block->values == 0;
}

int64_t storedRowBytes(WeightFormat format, int64_t k) {
  assert(k >= 0 && storesRowsOf(format, k) && "the importer refuses such tensors");
  const int64_t values = storedBlockValues(format);
  return (k + values - 1) / values * storedBlockBytes(format);
}

void unpackBlock(WeightFormat format, const std::byte *stored, BlockParts &parts) {
  const StoredBlock *block = storedBlock(format);
  assert(block && "floats and fp8 have no stored blocks");
  const uint8_t *bytes = asBytes(stored);
  parts.d = block->scaleAt < 0 ? 0.0f : scaleAt(bytes + block->scaleAt, block->scale);
  parts.m = block->minAt < 0 ? 0.0f : scaleAt(bytes + block->minAt, block->minScale());
  block->unpack(bytes, parts);
}

} // namespace ingot::import
