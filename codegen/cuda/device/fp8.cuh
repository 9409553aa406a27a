//===- fp8.cuh - E4M3 and E5M2 ----------------------------------------------===//
//
// E4M3 has no infinities: 0x7f and 0xff are NaN, and magnitudes above 448 saturate. The integer
// formulas work on every architecture; sm_89 and newer convert pairs in hardware, with the same bits.
//===----------------------------------------------------------------------===//
#pragma once

/// Exact.
DEVICE float e4m3_to_f32(u8 v) {
  const u32 magnitude = v & 0x7fu, sign = (u32)(v & 0x80u) << 24;
  const float value = magnitude == 0x7f ? as_f32(0x7fffffffu) : as_f32(magnitude << 20) * 0x1p+120f;
  return as_f32(as_u32(value) | sign);
}
/// An E5M2 value is the upper byte of an f16. Exact.
DEVICE float e5m2_to_f32(u8 v) { return f16_to_f32((u16)(v << 8)); }
/// Rounds to nearest, ties to even, and saturates.
DEVICE u8 f32_to_e4m3(float v) {
  const u32 sign = (as_u32(v) >> 24) & 0x80u;
  const float a = abs_f32(v);
  if (!(a <= 448.0f))
    return (u8)(v == v ? sign | 0x7e : 0x7f);
  if (a < 0x1p-6f) // subnormal: steps of 2^-9
    return (u8)(sign | (u32)(a * 0x1p+9f + 0x1p+23f - 0x1p+23f));
  const u32 bits = as_u32(a) + 0x7ffffu + ((as_u32(a) >> 20) & 1u);
  return (u8)(sign | ((bits >> 20) - (120u << 3)));
}

#if DEVICE_HAS_E4M3
/// Packs two values, lo in the low byte.
DEVICE u16 pack_e4m3(float lo, float hi) {
#ifdef __CUDACC__
  u16 r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(hi), "f"(lo));
  return r;
#else
  return (u16)(f32_to_e4m3(lo) | f32_to_e4m3(hi) << 8);
#endif
}
/// Converts two values to a pair of f16. Exact.
DEVICE u32 e4m3_to_f16x2(u16 pair) {
#ifdef __CUDACC__
  u32 r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(pair));
  return r;
#else
  return pack_f16(e4m3_to_f32((u8)pair), e4m3_to_f32((u8)(pair >> 8)));
#endif
}
#endif
