//===- numbers.cuh - bf16, f16 and packed pairs under NVRTC -----------===//
//
// A 16-bit value is a u16. A pair is a u32 with the first (even) value in the low half. Conversions round to nearest,
// ties to even; a NaN becomes the canonical NaN (0x7fff).
//===----------------------------------------------------------------------===//
#pragma once

DEVICE float bf16_to_f32(u16 v) { return as_f32((u32)v << 16); }
DEVICE float bf16_lo(u32 pair) { return as_f32(pair << 16); }
DEVICE float bf16_hi(u32 pair) { return as_f32(pair & 0xffff0000u); }
DEVICE u16 f32_to_bf16(float v) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
DEVICE u32 pack_bf16(float lo, float hi) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}

DEVICE float f16_to_f32(u16 v) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v));
  return r;
}
DEVICE float f16_lo(u32 pair) { return f16_to_f32((u16)pair); }
DEVICE float f16_hi(u32 pair) { return f16_to_f32((u16)(pair >> 16)); }
DEVICE u16 f32_to_f16(float v) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
DEVICE u32 pack_f16(float lo, float hi) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}

// Operations on pairs of bf16, each rounded once. sm_80 has only the fma, which rounds its exact result
// once. So a * 1 + b is a correct sum and a * b - 0 a correct product, and these operations are an fma
// on every architecture.
DEVICE u32 bf16x2_fma(u32 a, u32 b, u32 c) {
  u32 r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
DEVICE u32 bf16x2_add(u32 a, u32 b) { return bf16x2_fma(a, 0x3f803f80u, b); }
DEVICE u32 bf16x2_sub(u32 a, u32 b) { return bf16x2_fma(b, 0xbf80bf80u, a); }
DEVICE u32 bf16x2_mul(u32 a, u32 b) { return bf16x2_fma(a, b, 0x80008000u); }

/// (word & mask) | magic in one instruction: inserts a weight's codes below the exponent of a float.
/// 0x43004300 gives bf16 128 + code (codes of 7 bits), 0x64006400 gives f16 1024 + code.
DEVICE u32 mask_or(u32 word, u32 mask, u32 magic) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(word), "r"(mask), "r"(magic));
  return r;
}
/// Byte i of the result is byte (selector >> 4i) & 7 of b:a (a holds bytes 0…3).
DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) { return __byte_perm(a, b, selector); }
/// Does the same as byte_permute, but without the instruction that clears bit 3 of each nibble of a variable selector.
/// If that bit is set, byte i is eight copies of the sign bit of the chosen byte.
DEVICE u32 prmt(u32 a, u32 b, u32 selector) {
  u32 r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
  return r;
}
DEVICE u32 popcount(u32 word) { return __popc(word); }
/// Returns the upper half of the 128-bit product.
DEVICE u64 mul_hi(u64 a, u64 b) { return __umul64hi(a, b); }
/// sum + Σ a[i] * b[i] over four signed bytes.
DEVICE i32 dot4(u32 a, u32 b, i32 sum) { return __dp4a((i32)a, (i32)b, sum); }

// Operations that must not be fused or approximated.
DEVICE float fma_f32(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DEVICE float div_f32(float a, float b) { return __fdiv_rn(a, b); }
DEVICE float sqrt_f32(float v) { return __fsqrt_rn(v); }
DEVICE float min_f32(float a, float b) { return fminf(a, b); }
DEVICE float max_f32(float a, float b) { return fmaxf(a, b); }
DEVICE float abs_f32(float v) { return fabsf(v); }

/// 2^v, by the special function unit: 2 ulp; subnormal results become 0.
DEVICE float exp2_fast(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
/// tanh v, with a relative error of about 2^-11.
DEVICE float tanh_fast(float v) {
  float r;
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
