//===- matmul_decode.cuh - Projections of up to 64 tokens -------------------===//
//
// A block owns a tile of 16 rows (of a pair: the same tile of both weights); its warps own the
// parts of K. What bounds it is the stream of weights, so that stream starts before everything else
// and is never waited for by more than a warp:
//
//   load the first runs of the part     weights: no other kernel writes them, so before pdl_wait
//   pdl_wait
//   for each run: multiply, load the run that is Depth further on into the same registers
//   sums of the parts meet in shared memory, added in order; one thread per (row, token) runs the
//   epilogue
//
// Fragments of x come straight from L2: every value is read once per block.
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul.cuh"

/// Floats per token of a part's sums in shared memory: 16 rows, and 4 so that lanes fall on
/// different banks.
constexpr i32 kSumStride = 20;

/// Bytes of shared memory. Weights: 1, or 2 of a pair.
constexpr i32 matmul_decode_shared(i32 parts, i32 weights, i32 tokens) {
  return parts * weights * tokens * kSumStride * 4;
}

/// Tokens first … first + 8N - 1 (those below count) of rows 16 tile … 16 tile + 15.
/// `store(token, row, sums)` gets the finished sums of each weight. rows: of the weight.
template <class F, i32 K, i32 Parts, i32 N, i32 Weights, class Store>
DEVICE void matmul_decode(const u8 *const (&weights)[Weights], const u8 *x, i32 rows, i32 tile,
                          i32 first, const i64 *countOf, u8 *shared, Store store) {
  using Cut = KParts<F, K, Parts>;
  constexpr i32 rowBytes = round_up(K, 64) * 2, budget = N <= 2 ? 48 : N == 4 ? 40 : 24;
  constexpr i32 wanted = budget / (F::registers * Weights), depth = wanted < 2   ? 2
                                                                    : wanted > 8 ? 8
                                                                                 : wanted;
  const i32 lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const i32 begin = Cut::begin(part), end = Cut::begin(part + 1);
  const u8 *streams[Weights];
  UNROLL
  for (i32 w = 0; w < Weights; w++)
    streams[w] = weights[w] + tile * F::tileBytes(K);

  typename F::Run runs[depth][Weights];
  UNROLL
  for (i32 s = 0; s < depth; s++)
    if (begin + s < end) {
      UNROLL
      for (i32 w = 0; w < Weights; w++)
        F::load(runs[s][w], streams[w], begin + s, Cut::steps);
    }
  pdl_wait();
  const i32 count = (i32)*countOf;
  if (first >= count)
    return;

  // Lane l feeds token l / 4 of each eight; beyond the last token it repeats that one.
  const u8 *rowOf[N];
  UNROLL
  for (i32 n = 0; n < N; n++) {
    const i32 token = first + 8 * n + lane / 4;
    rowOf[n] = x + (i64)(token < count ? token : count - 1) * rowBytes + lane % 4 * 4;
  }
  float sum[Weights][N][4] = {};
  GroupSums<F, Weights, N> group;
  NO_UNROLL
  for (i32 from = begin; from < end; from += depth) {
    UNROLL
    for (i32 s = 0; s < depth; s++) {
      const i32 r = from + s;
      if (r >= end)
        break;
      multiply_run<F>(sum, group, runs[s], r, r + 1 == end, [&](i32 step, u32(&b)[N][2]) {
        UNROLL
        for (i32 n = 0; n < N; n++) {
          const u8 *at = rowOf[n] + r * 128 + step * 32;
          b[n][0] = *(const u32 *)at, b[n][1] = *(const u32 *)(at + 16);
        }
      });
      if (r + depth < end) {
        UNROLL
        for (i32 w = 0; w < Weights; w++)
          F::load(runs[s][w], streams[w], r + depth, Cut::steps);
      }
    }
  }

  float *partial = (float *)shared;
  UNROLL
  for (i32 w = 0; w < Weights; w++) {
    UNROLL
    for (i32 n = 0; n < N; n++) {
      UNROLL
      for (i32 v = 0; v < 4; v++)
        partial[((part * Weights + w) * 8 * N + 8 * n + 2 * (lane % 4) + v % 2) * kSumStride +
                lane / 4 + v / 2 * 8] = sum[w][n][v];
    }
  }
  sync_block();
  for (i32 i = threadIdx.x; i < 16 * 8 * N; i += 32 * Parts) {
    const i32 token = i / 16, row = i % 16;
    if (first + token >= count || tile * 16 + row >= rows)
      continue;
    float sums[Weights];
    UNROLL
    for (i32 w = 0; w < Weights; w++) {
      sums[w] = 0.0f;
      UNROLL
      for (i32 p = 0; p < Parts; p++)
        sums[w] += partial[((p * Weights + w) * 8 * N + token) * kSumStride + row];
    }
    store(first + token, tile * 16 + row, sums);
  }
}
