//===- matmul_f32.cuh - Projections of f32 rows: routers --------------------===//
//
// Used by routers, because the operands that decide the experts of a token must not be rounded. Rows are f32, weights
// are floats as in the checkpoint, and each multiplication is one fma into its sum. Tensor cores cannot do this, and
// routers are small enough not to need them. Weights are in panels (runtime/formats/PanelLayout.h), in which the values
// of adjacent rows are adjacent.
//
//   K is split into 8 parts of 4 quarters, whatever the batch. The length of a quarter is a multiple of
//   4. The sum of a quarter starts at 0 and takes its k in order. Quarters are added to 0 in order, and
//   so are parts.
//
//            a block computes      a warp                      a lane
//   few      8 rows x 8 tokens     the quarters of one part    row l % 8 of quarter l / 8
//   many     32 rows x 16 tokens   one part, by quarters       row l
//
// Both give the same bits. With few tokens most of the time goes into loading the weights, so many
// blocks load them, and start before pdl_wait.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

constexpr i32 kF32Parts = 8, kF32Quarters = 4;
constexpr i32 kF32FewRows = 8, kF32FewTokens = 8, kF32ManyTokens = 16;

/// Loads values k … k + 3 of a row of a panel as words. k is a multiple of 4; values beyond K are 0.
struct PanelF32 {
  static constexpr i32 words = 4;
  static constexpr i64 panelBytes(i32 k) { return (i64)k * 128; }
  template <i32 K>
  static MEMBER void load(u32 (&to)[4], const u8 *panel, i32 row, i32 k, WeightStream stream) {
    UNROLL
    for (i32 i = 0; i < 4; i++)
      to[i] = K % 4 == 0 || k + i < K
                  ? ld_stream((const u32 *)(panel + (i64)(k + i) * 128 + row * 4), stream)
                  : 0;
  }
  static MEMBER float number(const u32 (&words)[4], i32 i) { return as_f32(words[i]); }
};
struct PanelBF16 {
  static constexpr i32 words = 2;
  static constexpr i64 panelBytes(i32 k) { return (i64)divide_up(k, 2) * 128; }
  template <i32 K>
  static MEMBER void load(u32 (&to)[2], const u8 *panel, i32 row, i32 k, WeightStream stream) {
    UNROLL
    for (i32 i = 0; i < 2; i++)
      to[i] = K % 4 == 0 || k + 2 * i < K
                  ? ld_stream((const u32 *)(panel + (i64)(k / 2 + i) * 128 + row * 4), stream)
                  : 0;
  }
  static MEMBER float number(const u32 (&words)[2], i32 i) {
    return i % 2 ? bf16_hi(words[i / 2]) : bf16_lo(words[i / 2]);
  }
};
struct PanelF16 {
  static constexpr i32 words = 4;
  static constexpr i64 panelBytes(i32 k) { return (i64)k * 64; }
  template <i32 K>
  static MEMBER void load(u32 (&to)[4], const u8 *panel, i32 row, i32 k, WeightStream) {
    UNROLL
    for (i32 i = 0; i < 4; i++)
      to[i] =
          K % 4 == 0 || k + i < K ? *(const u16 *)(panel + (i64)(k + i) * 64 + row * 2) : (u16)0;
  }
  static MEMBER float number(const u32 (&words)[4], i32 i) { return f16_to_f32((u16)words[i]); }
};

/// Returns the first k of quarter `number` among all quarters; K beyond the last.
template <i32 K> DEVICE i32 f32_quarter(i32 number) {
  constexpr i32 size = round_up(divide_up(K, kF32Parts * kF32Quarters), 4);
  return number * size < K ? number * size : K;
}

/// The rows of x of a block's `Tokens` tokens, of which only `count` exist.
template <i32 K, i32 Tokens> struct F32Rows {
  const float *first;
  i32 count;

  MEMBER F32Rows(const float *x, i32 token, i32 count)
      : first(x + (i64)token * round_up(K, 32)), count(count) {}
  /// Adds four products to each token's sum. Rows are addressed by constant offsets from one pointer, because there are
  /// no registers for more pointers.
  template <class P>
  MEMBER void multiply(float (&sum)[Tokens], const u32 (&weight)[P::words], i32 k) const {
    UNROLL
    for (i32 t = 0; t < Tokens; t++) {
      float4 v{0.0f, 0.0f, 0.0f, 0.0f};
      if (t < count)
        v = *(const float4 *)(first + k + t * round_up(K, 32));
      sum[t] = fma_f32(P::number(weight, 0), v.x, sum[t]);
      sum[t] = fma_f32(P::number(weight, 1), v.y, sum[t]);
      sum[t] = fma_f32(P::number(weight, 2), v.z, sum[t]);
      sum[t] = fma_f32(P::number(weight, 3), v.w, sum[t]);
    }
  }
};

/// Floats from one quarter's sums to the next in shared memory. The sums of four quarters, which a warp
/// writes at once, are in 32 different banks.
constexpr i32 kF32QuarterPitch = kF32FewTokens * kF32FewRows + 8;
constexpr i32 matmul_f32_few_shared() { return kF32Parts * kF32Quarters * kF32QuarterPitch * 4; }
constexpr i32 matmul_f32_many_shared() { return kF32Parts * kF32ManyTokens * 32 * 4; }

/// Computes tokens first … first + 7 of rows 8 tile … 8 tile + 7. `load(token, row, held)` loads the
/// epilogue's operands, `store(token, row, sums, held)` gets the finished sum. Rows are rows of the weight.
template <class P, i32 K, i32 Held, class Load, class Store>
DEVICE void matmul_f32_few(const u8 *const (&weights)[1], const float *x, i32 rows, i32 tile,
                           i32 first, const i64 *countOf, u8 *shared, Load load, Store store) {
  constexpr i32 depth = 32 / P::words; ///< fours of k that a lane has in flight
  const i32 thread = threadIdx.x, quarter = thread / 8, in = thread % 8;
  const i32 begin = f32_quarter<K>(quarter),
            steps = divide_up(f32_quarter<K>(quarter + 1) - begin, 4);
  const u8 *panel = weights[0] + tile / 4 * P::panelBytes(K);
  const i32 rowOfPanel = tile % 4 * kF32FewRows + in;
  const WeightStream stream = weight_stream(/*readOnce=*/true);
  u32 ring[depth][P::words];
  UNROLL
  for (i32 s = 0; s < depth; s++)
    if (s < steps)
      P::template load<K>(ring[s], panel, rowOfPanel, begin + 4 * s, stream);
  const i32 left = (i32)*countOf - first, count = left < kF32FewTokens ? left : kF32FewTokens;
  pdl_wait();
  if (count <= 0)
    return;

  const i32 token = thread / 8, row = tile * kF32FewRows + in; // of this thread's result
  const bool results = token < count && row < rows;
  float held[Held];
  if (results)
    load(first + token, row, held);

  const F32Rows<K, kF32FewTokens> tokens(x, first, count);
  float sum[kF32FewTokens] = {};
  NO_UNROLL
  for (i32 from = 0; from < steps; from += depth) {
    UNROLL
    for (i32 s = 0; s < depth; s++) {
      if (from + s >= steps)
        break;
      tokens.template multiply<P>(sum, ring[s], begin + 4 * (from + s));
      if (from + s + depth < steps)
        P::template load<K>(ring[s], panel, rowOfPanel, begin + 4 * (from + s + depth), stream);
    }
  }

  float *const sums = (float *)shared;
  UNROLL
  for (i32 t = 0; t < kF32FewTokens; t++)
    sums[quarter * kF32QuarterPitch + t * kF32FewRows + in] = sum[t];
  sync_block();
  if (!results)
    return;
  float total[1] = {};
  UNROLL
  for (i32 part = 0; part < kF32Parts; part++) {
    float ofPart = 0.0f;
    UNROLL
    for (i32 q = 0; q < kF32Quarters; q++)
      ofPart += sums[(part * kF32Quarters + q) * kF32QuarterPitch + thread];
    total[0] += ofPart;
  }
  store(first + token, row, total, held);
}

/// Computes tokens first … first + 15 of rows 32 tile … 32 tile + 31.
template <class P, i32 K, i32 Held, class Load, class Store>
DEVICE void matmul_f32_many(const u8 *const (&weights)[1], const float *x, i32 rows, i32 tile,
                            i32 first, const i64 *countOf, u8 *shared, Load load, Store store) {
  constexpr i32 threads = 32 * kF32Parts, deep = kF32ManyTokens * 32 / threads;
  const i32 thread = threadIdx.x, lane = thread % 32, part = thread / 32;
  const i32 left = (i32)*countOf - first, count = left < kF32ManyTokens ? left : kF32ManyTokens;
  pdl_wait();
  if (count <= 0)
    return;

  const u8 *panel = weights[0] + tile * P::panelBytes(K);
  const WeightStream stream = weight_stream(/*readOnce=*/false);
  const F32Rows<K, kF32ManyTokens> tokens(x, first, count);
  float ofPart[kF32ManyTokens] = {};
  NO_UNROLL
  for (i32 q = part * kF32Quarters; q < (part + 1) * kF32Quarters; q++) {
    const i32 end = f32_quarter<K>(q + 1);
    float sum[kF32ManyTokens] = {};
    NO_UNROLL
    for (i32 k = f32_quarter<K>(q); k < end; k += 4) {
      u32 weight[P::words];
      P::template load<K>(weight, panel, lane, k, stream);
      tokens.template multiply<P>(sum, weight, k);
    }
    UNROLL
    for (i32 t = 0; t < kF32ManyTokens; t++)
      ofPart[t] += sum[t];
  }

  float *const sums = (float *)shared; // [part][token][row]
  UNROLL
  for (i32 t = 0; t < kF32ManyTokens; t++)
    sums[(part * kF32ManyTokens + t) * 32 + lane] = ofPart[t];
  sync_block();
  // The epilogue's operands are loaded before the first result is stored.
  const i32 row = tile * 32 + lane;
  float held[deep][Held];
  UNROLL
  for (i32 i = 0; i < deep; i++)
    if (const i32 t = i * kF32Parts + part; t < count && row < rows)
      load(first + t, row, held[i]);
  sync_warp();
  UNROLL
  for (i32 i = 0; i < deep; i++) {
    const i32 t = i * kF32Parts + part;
    float total[1] = {};
    UNROLL
    for (i32 p = 0; p < kF32Parts; p++)
      total[0] += sums[(p * kF32ManyTokens + t) * 32 + lane];
    if (t < count && row < rows)
      store(first + t, row, total, held[i]);
  }
}
