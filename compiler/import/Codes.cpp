//===- Codes.cpp - GGUF's block packings ----------------------------------===//
#include "compiler/import/Codes.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace ingot::import {

int64_t storedBlockValues(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
  case WeightFormat::F16:
  case WeightFormat::BF16:
  case WeightFormat::Fp8Tensor:
  case WeightFormat::Fp8:
  case WeightFormat::Fp8Block128:
    return 1;
  case WeightFormat::Q4_K:
  case WeightFormat::Q5_K:
  case WeightFormat::Q6_K:
    return 256;
  default:
    return 32;
  }
}

int64_t storedBlockBytes(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
    return 4;
  case WeightFormat::F16:
  case WeightFormat::BF16:
    return 2;
  case WeightFormat::Fp8Tensor:
  case WeightFormat::Fp8:
  case WeightFormat::Fp8Block128:
    return 1;
  case WeightFormat::Q4_0:
    return 2 + 16;
  case WeightFormat::Q4_1:
    return 2 + 2 + 16;
  case WeightFormat::Q5_0:
    return 2 + 4 + 16;
  case WeightFormat::Q5_1:
    return 2 + 2 + 4 + 16;
  case WeightFormat::Q8_0:
    return 2 + 32;
  case WeightFormat::Q4_K:
    return 2 + 2 + 12 + 128;
  case WeightFormat::Q5_K:
    return 2 + 2 + 12 + 32 + 128;
  case WeightFormat::Q6_K:
    return 128 + 64 + 16 + 2;
  default:
    assert(false && "no file holds this format");
    return 0;
  }
}

int64_t storedRowBytes(WeightFormat format, int64_t k) {
  assert(k % storedBlockValues(format) == 0);
  return k / storedBlockValues(format) * storedBlockBytes(format);
}

float f16ToF32(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  if (magnitude >= 0x0400) // normal: re-bias the exponent from 15 to 127
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  // Denormal or zero: the mantissa counts units of 2^-24, exact in f32.
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

/// 32 codes of 4 bits: the low nibbles are the first half, the high ones the second.
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

/// The twelve bytes of Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minima.
/// Bytes 0-3 and 4-7 hold the first four of each and, in their upper two bits, the
/// upper bits of the last four, whose lower nibbles are in bytes 8-11.
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
  parts.d = loadU16(block + 208);
  parts.m = 0;
}

} // namespace

void unpackBlock(WeightFormat format, const std::byte *stored, BlockParts &parts) {
  const uint8_t *block = asBytes(stored);
  if (format == WeightFormat::Q6_K)
    return unpackQ6K(block, parts);
  parts.d = loadU16(block);
  parts.m = numericFormat(format).hasMin ? loadU16(block + 2) : 0;
  switch (format) {
  case WeightFormat::Q4_0:
    return unpackNibbles32(block + 2, parts.q);
  case WeightFormat::Q4_1:
    return unpackNibbles32(block + 4, parts.q);
  case WeightFormat::Q5_0:
    unpackNibbles32(block + 6, parts.q);
    return addFifthBits(loadU32(block + 2), parts.q);
  case WeightFormat::Q5_1:
    unpackNibbles32(block + 8, parts.q);
    return addFifthBits(loadU32(block + 4), parts.q);
  case WeightFormat::Q8_0:
    for (int j = 0; j < 32; ++j)
      parts.q[j] = block[2 + j] ^ 0x80; // w + 128
    return;
  case WeightFormat::Q4_K:
    unpackSubScales(block + 4, parts);
    return unpackNibbles256(block + 16, parts.q);
  case WeightFormat::Q5_K:
    unpackSubScales(block + 4, parts);
    unpackNibbles256(block + 48, parts.q);
    for (int k = 0; k < 256; ++k)
      parts.q[k] |= static_cast<uint8_t>((block[16 + k % 32] >> k / 32 & 1) << 4);
    return;
  default:
    assert(false && "floats, fp8 and --quantize formats have no stored blocks");
  }
}

} // namespace ingot::import
