//===- matmul_prefill.cuh - Projections of many tokens ----------------------===//
//
// A block of 8 warps computes 8 tiles of 16 rows (gated pair: 4 tiles of each weight) x 16 N tokens:
//
//   warp w:   tiles 2 (w % 4) and 2 (w % 4) + 1 (gated pair: tile w % 4 of each weight), token half
//   w / 4
//
//   shared memory   two stages of x: 16 N tokens x 64 k, swizzled, filled by cp.async one run ahead;
//                   the sums of the previous parts, private to the thread that owns them. At the end
//                   the results reuse all of this memory
//   registers       codes of this run and the next; sums of this part and of this group
//
// Every value is computed by the same instructions in the same order as in matmul_decode.cuh, so the
// bits do not depend on which of the two ran.
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul.cuh"
#include "matmul_results.cuh"

constexpr i32 kPrefillThreads = 256;

constexpr i32 matmul_prefill_shared(i32 parts, i32 n) {
  return 2 * 16 * n * 128 + (parts > 1 ? kPrefillThreads * 2 * n * 4 * 4 : 0);
}

/// Computes tokens first … first + 16 N - 1 of tiles tile … tile + 7 (gated pairs: + 3). `load`,
/// `store`: matmul_results.cuh.
template <class F, i32 K, i32 Parts, i32 N, i32 Held, i32 Weights, class Load, class Store>
DEVICE void matmul_prefill(const u8 *const (&weights)[Weights], const u8 *x, i32 rows, i32 tile,
                           i32 first, const i64 *countOf, u8 *shared, Load load, Store store) {
  using Cut = KParts<F, K, Parts>;
  constexpr i32 rowBytes = round_up(K, 64) * 2, tokens = 16 * N, stageBytes = tokens * 128;
  const i32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const i32 count = (i32)*countOf; // part of the batch, which no kernel writes
  pdl_wait();
  if (first >= count)
    return;

  const i32 tiles = divide_up(rows, 16);
  const WeightStream stream = weight_stream(count <= tokens);
  const u8 *streams[2];
  UNROLL
  for (i32 m = 0; m < 2; m++) {
    const i32 own = Weights == 2 ? tile + warp % 4 : tile + 2 * (warp % 4) + m;
    streams[m] = weights[Weights == 2 ? m : 0] + (own < tiles ? own : tiles - 1) * F::tileBytes(K);
  }

  auto fetch = [&](i32 r) { // loads x of run r into its stage; rows beyond the last token become 0
    if (r < Cut::runs) {
      UNROLL
      for (i32 i = 0; i < tokens * 8 / kPrefillThreads; i++) {
        const i32 token = i * kPrefillThreads / 8 + thread / 8, chunk = thread % 8;
        const bool inside = first + token < count;
        cp_async16(shared + r % 2 * stageBytes + swizzle128(token * 128 + chunk * 16),
                   x + (i64)(inside ? first + token : first) * rowBytes + r * 128 + chunk * 16,
                   inside ? 16 : 0);
      }
    }
    cp_async_commit();
  };
  float *const totals = (float *)(shared + 2 * stageBytes) + thread;

  if constexpr (Parts > 1)
    for (i32 i = 0; i < 8 * N; i++)
      totals[i * kPrefillThreads] = 0.0f;

  float sum[2][N][4] = {};
  GroupSums<F, 2, N> group;
  typename F::Run run[2], next[2];
  fetch(0);
  UNROLL
  for (i32 m = 0; m < 2; m++)
    F::load(next[m], streams[m], 0, Cut::steps, stream);
  i32 part = 0;
  NO_UNROLL
  for (i32 r = 0; r < Cut::runs; r++) {
    if constexpr (Parts > 1)
      while (r == Cut::begin(part + 1)) { // a part ends (several, if some are empty)
        UNROLL
        for (i32 i = 0; i < 8 * N; i++) {
          float &s = sum[i / (4 * N)][i / 4 % N][i % 4];
          totals[i * kPrefillThreads] += s * F::unit;
          s = 0.0f;
        }
        part++;
      }
    cp_async_wait<0>();
    sync_block(); // run r is visible to all threads, and all have read run r - 1
    fetch(r + 1);
    UNROLL
    for (i32 m = 0; m < 2; m++) {
      run[m] = next[m];
      if (r + 1 < Cut::runs)
        F::load(next[m], streams[m], r + 1, Cut::steps, stream);
    }
    const u8 *stage = shared + r % 2 * stageBytes;
    const bool ends = group_ends<F>(r, r + 1 == Cut::begin(part + 1));
    multiply_run<F>(sum, group, run, ends, [&](i32 step, u32(&b)[N][2]) {
      UNROLL
      for (i32 n = 0; n < N; n += 2) {
        const i32 token = warp / 4 * 8 * N + 8 * n + lane % 8 + lane / 16 * 8;
        u32 both[4];
        ldmatrix_x4(both, stage + swizzle128(token * 128 + step * 32 + lane / 8 % 2 * 16));
        b[n][0] = both[0], b[n][1] = both[1], b[n + 1][0] = both[2], b[n + 1][1] = both[3];
      }
    });
  }
  UNROLL
  for (i32 i = 0; i < 8 * N; i++) {
    float &s = sum[i / (4 * N)][i / 4 % N][i % 4];
    s *= F::unit;
    if constexpr (Parts > 1)
      s = totals[i * kPrefillThreads] + s;
  }

  static_assert(result_bytes(tokens) <= matmul_prefill_shared(Parts, N));
  float *const results = (float *)shared;
  sync_block(); // all threads have finished reading stages and totals
  UNROLL
  for (i32 m = 0; m < 2; m++) {
    const i32 column = Weights == 2 ? 64 * m + 16 * (warp % 4) : 32 * (warp % 4) + 16 * m;
    UNROLL
    for (i32 i = 0; i < 4 * N; i++) {
      const i32 token = warp / 4 * 8 * N + i / 4 * 8 + 2 * (lane % 4) + i % 2;
      results[token * kResultPitch + column + lane / 4 + i / 2 % 2 * 8] = sum[m][i / 4][i % 4];
    }
  }
  sync_block();
  store_results<16 * N, Held, Weights>(results, warp, rows, tile, first, count, load, store);
}
