//===- fp8_rows.cuh - Activations as E4M3 -----------------------------------===//
//
// A row of K values is stored as the codes of whole groups of 128, then an f32 scale for each group
// (fp8RowBytes of runtime/formats/FragmentLayout.h). The scale is the group's largest |x| / 448. Values
// beyond K are 0. Within 16 values, byte 4c + i holds k = {2c, 2c+8, 2c+1, 2c+9}[i]. The words of fp8
// weights hold their codes in the same order (formats.cuh), and any order of k gives the same dot product.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

constexpr i32 fp8_codes(i32 k) { return round_up(k, 128); }
constexpr i32 fp8_row_bytes(i32 k) { return round_up(fp8_codes(k) + fp8_codes(k) / 128 * 4, 64); }

#if DEVICE_HAS_E4M3
/// Quantises rows of bf16, one block per row. The warps take the groups in turn; a lane takes the four
/// values of one word.
template <i32 K> DEVICE void fp8_rows(const u8 *x, u8 *y, i64 count) {
  constexpr i32 stored = round_up(K, 64), groups = fp8_codes(K) / 128;
  const i32 lane = threadIdx.x % 32, row = blockIdx.x;
  pdl_wait();
  if (row >= count)
    return;
  const u8 *from = x + (i64)row * stored * 2;
  u8 *to = y + (i64)row * fp8_row_bytes(K);
  for (i32 g = threadIdx.x / 32; g < groups; g += blockDim.x / 32) {
    const i32 k = g * 128 + lane / 4 * 16 + lane % 4 * 2;
    const u32 near = k < stored ? *(const u32 *)(from + 2 * k) : 0,
              far = k < stored ? *(const u32 *)(from + 2 * k + 16) : 0;
    const float v[4] = {bf16_lo(near), bf16_lo(far), bf16_hi(near), bf16_hi(far)};
    const float largest = warp_max(
        max_f32(max_f32(abs_f32(v[0]), abs_f32(v[1])), max_f32(abs_f32(v[2]), abs_f32(v[3]))));
    // A group becomes zeros if its largest value is below 2^-100, because 448 / largest must stay finite.
    const bool some = largest >= 0x1p-100f;
    const float inverse = some ? div_f32(448.0f, largest) : 0.0f;
    ((u32 *)(to + g * 128))[lane] = (u32)pack_e4m3(v[0] * inverse, v[1] * inverse) |
                                    (u32)pack_e4m3(v[2] * inverse, v[3] * inverse) << 16;
    if (lane == 0)
      ((float *)(to + fp8_codes(K)))[g] = some ? div_f32(largest, 448.0f) : 0.0f;
  }
}
#endif
