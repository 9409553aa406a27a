//===- matmul_results.cuh - Storing results of many tokens to rows of y -----===//
//
// After the main loop, a thread holds results in pairs: two adjacent tokens of one row. If threads stored these pairs
// directly, a store of a warp would cover only four tokens x 32 bytes. A thread would also have to read the epilogue's
// operands one value at a time, each after the previous store, because y may itself be an operand. Therefore results
// first go to shared memory, where they overwrite the main loop's data. A warp then takes 32 rows of a token. Each of
// its threads loads the operands of up to 16 results before it stores the first result.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

/// Floats from one token's results to the next in shared memory. Four tokens x eight rows, which a warp
/// writes at once, are in 32 different banks.
constexpr i32 kResultPitch = 132;
constexpr i32 result_bytes(i32 tokens) { return tokens * kResultPitch * 4; }

/// Stores results[token][128]: 128 rows, or 64 rows of one weight followed by 64 rows of the other. Called
/// by 256 threads; `warp` is the warp's number among them. `load(token, row, held)` loads the
/// epilogue's operands, `store(token, row, sums, held)` uses them.
template <i32 Tokens, i32 Held, i32 Weights, class Load, class Store>
DEVICE void store_results(const float *results, i32 warp, i32 rows, i32 tile, i32 first, i32 count,
                          Load load, Store store) {
  constexpr i32 across = 128 / Weights / 32, most = 16 / across;
  constexpr i32 deep = Tokens % (8 * most) ? most / 2 : most; ///< tokens per thread at once
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
    // Every load has a predicate. To keep fewer predicates alive, ptxas would move loads after the
    // stores. It may not move them across a warp barrier.
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
// For blocks in which warpgroups 1 and 2 multiply, one warp per tile (gated pair: warpgroup 1 takes the first weight)
//===----------------------------------------------------------------------===//

/// Returns the weight's tile of a multiplying warp; the last tile if its own would be beyond it.
template <class F, i32 K, i32 Weights>
DEVICE const u8 *own_tile(const u8 *const (&weights)[Weights], i32 rows, i32 tile) {
  const i32 warp = threadIdx.x / 32 - 4, tiles = divide_up(rows, 16);
  const i32 own = tile + (Weights == 2 ? warp % 4 : warp);
  const u8 *weight = Weights == 2 && warp >= 4 ? weights[Weights - 1] : weights[0];
  return weight + (own < tiles ? own : tiles - 1) * F::tileBytes(K);
}

/// Writes the sums of warpgroups 1 and 2 to the place where store_results reads them. The sums overwrite stages and
/// totals, after both warpgroups have finished with these.
template <i32 Tokens> DEVICE void leave_results(float *results, const float (&sum)[Tokens / 2]) {
  const i32 warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
  sync_named(2, 256);
  UNROLL
  for (i32 i = 0; i < Tokens / 2; i++)
    results[(i / 4 * 8 + 2 * (lane % 4) + i % 2) * kResultPitch + 16 * warp + lane / 4 +
            i / 2 % 2 * 8] = sum[i];
  sync_named(2, 256);
}
