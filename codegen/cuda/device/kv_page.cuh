//===- kv_page.cuh - A page of the KV cache ---------------------------------===//
//
//   E     k[kvHeads][kPageTokens][headDim], v[kvHeads][kPageTokens][headDim]
//   float kScale[kvHeads][kPageTokens], vScale[kvHeads][kPageTokens]          E4M3 only
//
// E is bf16, or E4M3 codes with a scale for each token and head: value = code * scale. The scale
// follows from the vector's largest magnitude, so a vector has a dynamic range of 448 / 2^-9 whatever
// its magnitude. Every code is exact in bf16 (4 bits of significand, exponents -9 … 8), so tensor
// cores multiply the unscaled codes, and the scale multiplies the f32 result.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

template <i32 KvHeads, i32 HeadDim, bool Fp8> struct KvPage {
  static constexpr bool scaled = Fp8;
  static constexpr i32 rowBytes = HeadDim * (Fp8 ? 1 : 2), headBytes = kPageTokens * rowBytes,
                       scalesAt = 2 * KvHeads * headBytes,
                       bytes = round_up(scalesAt + (Fp8 ? 2 * KvHeads * kPageTokens * 4 : 0), 64);

  u8 *base;

  MEMBER KvPage(const u8 *pool, i64 page) : base(const_cast<u8 *>(pool) + page * bytes) {}
  /// Returns the vector of one head at position `slot` of the page.
  MEMBER u8 *keys(i32 head, i32 slot) const { return base + head * headBytes + slot * rowBytes; }
  MEMBER u8 *values(i32 head, i32 slot) const { return keys(KvHeads + head, slot); }
  /// Returns the place of the scale of a vector of K. The scales of a page's positions are adjacent.
  MEMBER float *keyScale(i32 head, i32 slot) const {
    return (float *)(base + scalesAt) + head * kPageTokens + slot;
  }
  MEMBER float *valueScale(i32 head, i32 slot) const { return keyScale(KvHeads + head, slot); }
};

/// Returns the scale of a vector with the largest magnitude `most`. Returns 1 for a nearly zero vector, because its
/// scale would be subnormal.
DEVICE float kv_scale(float most) { return most >= 0x1p-110f ? div_f32(most, 448.0f) : 1.0f; }

/// Replaces DEVICE for functions that a kernel calls in hundreds of places. On the host they are not
/// inlined, since inlining would only cost seconds of compile time.
#ifdef __CUDACC__
#define DEVICE_OFTEN __device__ __forceinline__
#else
#define DEVICE_OFTEN __attribute__((noinline)) inline
#endif

/// Converts four codes to two pairs of bf16. Exact: sign and code are placed as in a bf16 with a bias
/// of 7, and a factor of 2^120 corrects the bias. (A NaN becomes 480.)
DEVICE_OFTEN void e4m3_to_bf16(u32 codes, u32 &lo, u32 &hi) {
  const u32 first = byte_permute(codes, 0, 0x1404), second = byte_permute(codes, 0, 0x3424);
  lo = bf16x2_mul((first & 0x80008000u) | (first >> 4 & 0x07f007f0u), 0x7b807b80u);
  hi = bf16x2_mul((second & 0x80008000u) | (second >> 4 & 0x07f007f0u), 0x7b807b80u);
}
