//===- matmul_results.cuh - Results of many tokens, to rows of y ------------===//
//
// Products leave a thread with pairs of tokens of single rows: stored from there, a warp's store
// would be four tokens x 32 bytes, and what an epilogue adds would be read one value at a time,
// each read behind the store before it, since y may be what is added. So results wait in shared
// memory, in the place of what the main loop used, and a warp takes 32 rows of a token: it reads
// what 16 results of a thread need before the first of them is stored.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

/// Floats from a token to the next where results wait: four tokens x eight rows, which a warp
/// writes at once, lie in 32 banks.
constexpr i32 kResultPitch = 132;
constexpr i32 result_bytes(i32 tokens) { return tokens * kResultPitch * 4; }

/// results[token][128]: of 128 rows, or 64 rows of two weights one behind the other. 256 threads,
/// the warp's number said. `load(token, row, held)` brings what the epilogue adds, `store(token,
/// row, sums, held)` takes it.
template <i32 Tokens, i32 Held, i32 Weights, class Load, class Store>
DEVICE void store_results(const float *results, i32 warp, i32 rows, i32 tile, i32 first, i32 count,
                          Load load, Store store) {
  constexpr i32 across = 128 / Weights / 32, most = 16 / across;
  constexpr i32 deep = Tokens % (8 * most) ? most / 2 : most; ///< results of a thread at once
  static_assert(Tokens % (8 * deep) == 0);
  const i32 lane = threadIdx.x % 32;
  NO_UNROLL
  for (i32 from = 0; from < Tokens; from += 8 * deep) {
    float held[deep][across][Held];
    UNROLL
    for (i32 i = 0; i < deep; i++) {
      UNROLL
      for (i32 j = 0; j < across; j++) {
        const i32 token = first + from + 8 * i + warp, row = tile * 16 + 32 * j + lane;
        if (token < count && row < rows)
          load(token, row, held[i][j]);
      }
    }
    // Every load has a predicate. To keep fewer of them alive ptxas would put loads behind stores
    // again; over a meeting of the warp it may not.
    sync_warp();
    UNROLL
    for (i32 i = 0; i < deep; i++) {
      UNROLL
      for (i32 j = 0; j < across; j++) {
        const i32 t = from + 8 * i + warp, token = first + t, row = tile * 16 + 32 * j + lane;
        float sums[Weights];
        UNROLL
        for (i32 w = 0; w < Weights; w++)
          sums[w] = results[t * kResultPitch + 64 * w + 32 * j + lane];
        if (token < count && row < rows)
          store(token, row, sums, held[i][j]);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Blocks whose warpgroups 1 and 2 multiply, a warp a tile (of a pair: warpgroup 1 the first weight)
//===----------------------------------------------------------------------===//

/// The weight's tile of a warp that multiplies: the last again where there is none.
template <class F, i32 K, i32 Weights>
DEVICE const u8 *own_tile(const u8 *const (&weights)[Weights], i32 rows, i32 tile) {
  const i32 warp = threadIdx.x / 32 - 4, tiles = divide_up(rows, 16);
  const i32 own = tile + (Weights == 2 ? warp % 4 : warp);
  const u8 *weight = Weights == 2 && warp >= 4 ? weights[Weights - 1] : weights[0];
  return weight + (own < tiles ? own : tiles - 1) * F::tileBytes(K);
}

/// The sums of warpgroups 1 and 2, to where store_results finds them: in the place of stages and
/// totals, when both are through with them.
template <i32 Tokens> DEVICE void leave_results(float *results, const float (&sum)[Tokens / 2]) {
  const i32 warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
  sync_named(2, 256);
  UNROLL
  for (i32 i = 0; i < Tokens / 2; i++)
    results[(i / 4 * 8 + 2 * (lane % 4) + i % 2) * kResultPitch + 16 * warp + lane / 4 +
            i / 2 % 2 * 8] = sum[i];
  sync_named(2, 256);
}
