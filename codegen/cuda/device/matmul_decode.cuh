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
//   epilogue (per pair of rows where an epilogue takes two: device/append.cuh)
//
// Fragments of x come straight from L2: every value is read once per block. Or the block computes x
// itself, right after pdl_wait, into shared memory: the norm before a projection then costs no
// launch (the functor `tokens` of matmul_decode_of).
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul.cuh"
#include "sample.cuh"

/// Floats per token of a part's sums in shared memory: 16 rows, and 4 so that lanes fall on
/// different banks.
constexpr i32 kSumStride = 20;

/// Bytes of shared memory. Weights: 1, or 2 of a pair.
constexpr i32 matmul_decode_shared(i32 parts, i32 weights, i32 tokens) {
  return parts * weights * tokens * kSumStride * 4;
}

/// Rows of x, bf16: where the first of a block's tokens lies, and bytes from one to the next.
struct TokenRows {
  const u8 *first;
  i32 stride;
};
/// Of rows in shared memory: 16 bytes more, so that the eight tokens of a fragment fall on
/// different banks.
constexpr i32 shared_row_bytes(i32 k) { return round_up(k, 64) * 2 + 16; }

/// Of x in global memory.
template <i32 K> DEVICE TokenRows rows_of(const u8 *x, i32 first) {
  constexpr i32 rowBytes = round_up(K, 64) * 2;
  return {x + (i64)first * rowBytes, rowBytes};
}

/// Brings a vector weight near: it is read behind pdl_wait.
template <i32 Count> DEVICE void prefetch_vector(const float *vector) {
  for (i32 i = threadIdx.x * 32; i < Count; i += blockDim.x * 32)
    prefetch_l2(vector + i);
}

/// What becomes of stored values besides: nothing, or the largest of a token's row is looked for.
/// `keys`: one a token, raised to that of the block's largest (argmax_key).
struct NoKeys {
  static constexpr bool fold = false;
};
struct FoldKeys {
  static constexpr bool fold = true;
  u64 *keys;
};

/// Tokens first … first + Most - 1 (those below count; at most 8N) of rows 16 tile … 16 tile + 15.
/// `tokens(n)` says, to all threads at once, where the rows of the n tokens lie; `store(token, row,
/// sums)` gets the finished sums of each weight, of `Together` rows from `row` on, and returns the
/// stored value where keys are folded. rows: of the weight.
template <class F, i32 K, i32 Parts, i32 N, i32 Most, i32 Together = 1, i32 Weights, class Tokens,
          class Store, class Keys = NoKeys>
DEVICE void matmul_decode_of(const u8 *const (&weights)[Weights], Tokens tokens, i32 rows, i32 tile,
                             i32 first, const i64 *countOf, u8 *shared, Store store,
                             Keys keys = {}) {
  static_assert(Most <= 8 * N && (Together == 1 || !Keys::fold));
  using Cut = KParts<F, K, Parts>;
  constexpr i32 budget = N <= 2 ? 48 : N == 4 ? 40 : 24;
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
  const i32 left = (i32)*countOf - first, count = left < Most ? left : Most;
  if (count <= 0)
    return;
  const TokenRows x = tokens(count);

  // Lane l feeds token l / 4 of each eight; beyond the last token it repeats that one.
  const u8 *rowOf[N];
  UNROLL
  for (i32 n = 0; n < N; n++) {
    const i32 token = 8 * n + lane / 4;
    rowOf[n] = x.first + (token < count ? token : count - 1) * x.stride + lane % 4 * 4;
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
  constexpr i32 perToken = 16 / Together;
  for (i32 i = threadIdx.x; i < perToken * 8 * N; i += 32 * Parts) { // whole warps
    const i32 token = i / perToken, row = i % perToken * Together;
    u64 key = 0;
    if (token < count && tile * 16 + row < rows) {
      float sums[Weights * Together];
      UNROLL
      for (i32 w = 0; w < Weights * Together; w++) {
        sums[w] = 0.0f;
        UNROLL
        for (i32 p = 0; p < Parts; p++)
          sums[w] += partial[((p * Weights + w / Together) * 8 * N + token) * kSumStride + row +
                             w % Together];
      }
      if constexpr (Keys::fold)
        key = argmax_key(store(first + token, tile * 16 + row, sums), tile * 16 + row);
      else
        store(first + token, tile * 16 + row, sums);
    }
    if constexpr (Keys::fold) {
      key = max_key<8>(key); // over the 16 lanes of the token
      if (row == 0 && key)
        atomic_max(keys.keys + first + token, key);
    }
  }
}

/// The same, of rows of x in global memory.
template <class F, i32 K, i32 Parts, i32 N, i32 Weights, class Store, class Keys = NoKeys>
DEVICE void matmul_decode(const u8 *const (&weights)[Weights], const u8 *x, i32 rows, i32 tile,
                          i32 first, const i64 *countOf, u8 *shared, Store store, Keys keys = {}) {
  matmul_decode_of<F, K, Parts, N, 8 * N>(
      weights, [&](i32) { return rows_of<K>(x, first); }, rows, tile, first, countOf, shared, store,
      keys);
}
