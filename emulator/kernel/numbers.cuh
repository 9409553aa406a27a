//===- numbers.cuh - bf16, f16, fp8 and packed pairs in integer arithmetic -===//
//
// These functions give the same bits as the instructions of the GPU, canonical NaN included. Tests
// cover all 16-bit values.
//===----------------------------------------------------------------------===//
#pragma once

DEVICE float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEVICE float div_f32(float a, float b) { return a / b; }
DEVICE float sqrt_f32(float v) { return __builtin_sqrtf(v); }
DEVICE float abs_f32(float v) { return __builtin_fabsf(v); }
/// min_f32 and max_f32 return the other operand if one is NaN.
DEVICE float min_f32(float a, float b) { return b < a || a != a ? b : a; }
DEVICE float max_f32(float a, float b) { return b > a || a != a ? b : a; }

DEVICE float bf16_to_f32(u16 v) { return as_f32((u32)v << 16); }
DEVICE float bf16_lo(u32 pair) { return as_f32(pair << 16); }
DEVICE float bf16_hi(u32 pair) { return as_f32(pair & 0xffff0000u); }
DEVICE u16 f32_to_bf16(float v) {
  const u32 bits = as_u32(v);
  return (u16)(v == v ? (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16 : 0x7fffu);
}
DEVICE u32 pack_bf16(float lo, float hi) { return f32_to_bf16(lo) | (u32)f32_to_bf16(hi) << 16; }

DEVICE float f16_to_f32(u16 v) {
  const u32 sign = (u32)(v & 0x8000u) << 16, magnitude = v & 0x7fffu;
  // The exponent moves by multiplication, which also makes subnormals normal.
  const float finite = as_f32(magnitude << 13) * 0x1p+112f;
  const u32 bits = magnitude >= 0x7c00u ? (magnitude << 13) | 0x7f800000u : as_u32(finite);
  return as_f32(bits | sign);
}
DEVICE float f16_lo(u32 pair) { return f16_to_f32((u16)pair); }
DEVICE float f16_hi(u32 pair) { return f16_to_f32((u16)(pair >> 16)); }
DEVICE u16 f32_to_f16(float v) {
  const u32 bits = as_u32(v), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return 0x7fffu;
  if (magnitude >= 0x47800000u) // 65536 and more; 65520 … rounds up below
    return (u16)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) // below 2^-14: adding 1/2 rounds to steps of 2^-24
    return (u16)(sign | (as_u32(as_f32(magnitude) + 0.5f) - 0x3f000000u));
  return (u16)(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}
DEVICE u32 pack_f16(float lo, float hi) { return f32_to_f16(lo) | (u32)f32_to_f16(hi) << 16; }

namespace emu {
/// Rounds v to f32 towards zero and sets the last bit if that is inexact: rounding the result to
/// fewer bits then gives the same as rounding v.
DEVICE float roundToOdd(double v) {
  const float nearest = (float)v;
  if ((double)nearest == v || nearest != nearest)
    return nearest;
  u32 bits = as_u32(nearest);
  if (__builtin_fabs((double)nearest) > __builtin_fabs(v))
    bits--;
  return as_f32(bits | 1u);
}
/// a * b + c with one rounding to bf16. The product of two bf16 is exact in f64. If the sum is not exact,
/// it is first rounded to odd.
DEVICE u16 bf16Fma(float a, float b, float c) {
  const double product = (double)a * b, sum = product + c;
  const double part = sum - product;
  const double lost = (product - (sum - part)) + (c - part);
  double odd = sum;
  if (lost != 0 && sum - sum == 0) {
    u64 bits = __builtin_bit_cast(u64, sum);
    if (!(bits & 1u)) // towards the lost part
      bits += (lost > 0) == (sum > 0) ? 1 : -1;
    odd = __builtin_bit_cast(double, bits);
  }
  return f32_to_bf16(roundToOdd(odd));
}
} // namespace emu

DEVICE u32 bf16x2_fma(u32 a, u32 b, u32 c) {
  return emu::bf16Fma(bf16_lo(a), bf16_lo(b), bf16_lo(c)) |
         (u32)emu::bf16Fma(bf16_hi(a), bf16_hi(b), bf16_hi(c)) << 16;
}
// An f32 has enough bits: rounding a sum of two bf16 to f32 and then to bf16 gives the same as one
// rounding.
DEVICE u32 bf16x2_add(u32 a, u32 b) {
  return pack_bf16(bf16_lo(a) + bf16_lo(b), bf16_hi(a) + bf16_hi(b));
}
DEVICE u32 bf16x2_sub(u32 a, u32 b) {
  return pack_bf16(bf16_lo(a) - bf16_lo(b), bf16_hi(a) - bf16_hi(b));
}
DEVICE u32 bf16x2_mul(u32 a, u32 b) { // rounds to odd, since the product may be subnormal in f32
  return pack_bf16(emu::roundToOdd((double)bf16_lo(a) * bf16_lo(b)),
                   emu::roundToOdd((double)bf16_hi(a) * bf16_hi(b)));
}

DEVICE u32 mask_or(u32 word, u32 mask, u32 magic) { return (word & mask) | magic; }
DEVICE u32 prmt(u32 a, u32 b, u32 selector) {
  const u64 bytes = (u64)b << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; i++) {
    const u32 from = (selector >> (4 * i)) & 15u;
    u32 byte = (u32)(bytes >> (8 * (from & 7u))) & 0xffu;
    if (from & 8u) // replicates the sign bit
      byte = byte & 0x80u ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}
DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) { return prmt(a, b, selector & 0x7777u); }
DEVICE u32 popcount(u32 word) { return (u32)__builtin_popcount(word); }
DEVICE u64 mul_hi(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
DEVICE i32 dot4(u32 a, u32 b, i32 sum) {
  for (u32 i = 0; i < 32; i += 8)
    sum += (i8)(a >> i) * (i8)(b >> i);
  return sum;
}

// Does not return the same bits as the special function unit, but stays within the error of that unit.
DEVICE float exp2_fast(float v) {
  if (!(v > -126.0f)) // subnormal results are 0
    return v == v ? 0.0f : v;
  if (v >= 128.0f)
    return as_f32(0x7f800000u);
  const float shifted = v + 0x1.8p+23f;
  const float r = (v - (shifted - 0x1.8p+23f)) * 0x1.62e430p-1f; // times ln 2
  float p = 0.00139506f;
  p = fma_f32(p, r, 0.00836895f);
  p = fma_f32(p, r, 0.0416662f);
  p = fma_f32(p, r, 0.16666518f);
  p = fma_f32(p, r, 0.50000001f);
  p = fma_f32(p * r, r, r) + 1.0f;
  return as_f32(as_u32(p) + (as_u32(shifted) << 23));
}
DEVICE float tanh_fast(float v) {
  const float a = abs_f32(v);
  if (a < 0.01f)
    return v - v * v * v * (1.0f / 3);
  const float t = 1.0f - 2.0f / (exp2_fast(a * 0x1.715476p+1f) + 1.0f);
  return v < 0 ? -t : t;
}
