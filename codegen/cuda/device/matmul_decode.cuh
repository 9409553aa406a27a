//===- matmul_decode.cuh - Projections of up to 64 tokens -------------------===//
//
// A block owns a tile of 16 rows (gated pair: the same tile of each weight). Each of its warps owns a
// part of K. The kernel's speed is bound by the stream of weights, so that stream starts before
// everything else, and warps wait for it one by one, never at a common barrier:
//
//   load the first runs of the part     no kernel writes weights, so this comes before pdl_wait; no
//                                       kernel writes the batch, so the token count is read there too
//   pdl_wait
//   load the epilogue's operands, if a thread has few results
//   for each run: multiply, then load the run that is Depth further on into the same registers
//   add the sums of the parts in shared memory, in order; one thread per (row, token) runs the
//   epilogue (per pair of rows if an epilogue takes two: device/append.cuh)
//
// Runs are loaded and addressed by the *chunk* (F::chunkRuns). The body of the loop is unrolled over
// Depth / chunkRuns chunks, or over a block if that has more chunks. So addresses in the body are
// constant offsets from pointers that advance once per iteration.
//
// Fragments of x are loaded directly from L2: every value is read once per block. Alternatively the
// block computes x itself right after pdl_wait (the functor `tokens` of matmul_decode_of). It writes x
// to shared memory, from where ldmatrix loads it. Then the norm before a projection needs no launch of
// its own.
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul.cuh"
#include "sample.cuh"

/// Floats per token of a part's sums in shared memory: one for each of 16 rows, and 4 of padding, which
/// put the lanes on different banks.
constexpr i32 kSumStride = 20;

/// Returns the size in bytes of shared memory. weights: 1, or 2 for a gated pair.
constexpr i32 matmul_decode_shared(i32 parts, i32 weights, i32 tokens) {
  return parts * weights * tokens * kSumStride * 4;
}

/// Rows of x in bf16: the address of the block's first token, and the bytes from one token to the next.
struct TokenRows {
  static constexpr bool shared = false;
  const u8 *first;
  i32 stride;
};
/// Rows of x in shared memory. The stride is 16 bytes more than the row, so the eight tokens of a
/// fragment are on different banks.
struct SharedRows {
  static constexpr bool shared = true;
  const u8 *first;
  i32 stride;
};
constexpr i32 shared_row_bytes(i32 k) { return round_up(k, 64) * 2 + 16; }

/// Loads fragments of x for the lanes of a warp, for 8N tokens of which `count` exist. The last token
/// takes the place of those beyond it. `run`: byte offset of the run in its row.
template <i32 N, class Rows> struct TokenFragments {
  const u8 *rowOf[N];
  u32 pair[N][4]; ///< fragments of two steps, from shared memory

  MEMBER TokenFragments(Rows x, i32 count, i32 from) {
    const i32 lane = threadIdx.x % 32, stride = x.stride + (Rows::shared ? 0 : INGOT_X_PITCH);
    UNROLL
    for (i32 n = 0; n < N; n++) { // lane l of a fragment: token l / 4; of ldmatrix: row l % 8
      const i32 token = 8 * n + (Rows::shared ? lane % 8 : lane / 4);
      rowOf[n] = x.first + (token < count ? token : count - 1) * stride + from +
                 (Rows::shared ? lane / 8 * 16 : lane % 4 * 4);
    }
  }
  MEMBER void advance(i32 bytes) {
    UNROLL
    for (i32 n = 0; n < N; n++)
      rowOf[n] += bytes;
  }
  MEMBER void operator()(i32 run, i32 step, u32 (&b)[N][2]) {
    UNROLL
    for (i32 n = 0; n < N; n++) {
      const u8 *at = rowOf[n] + run + step * 32;
      if constexpr (Rows::shared) {
        if (step % 2 == 0)
          ldmatrix_x4(pair[n], at);
        b[n][0] = pair[n][step % 2 * 2], b[n][1] = pair[n][step % 2 * 2 + 1];
      } else {
        b[n][0] = *(const u32 *)at, b[n][1] = *(const u32 *)(at + 16);
      }
    }
  }
};

/// Returns the rows of x in global memory.
template <i32 K> DEVICE TokenRows rows_of(const u8 *x, i32 first) {
  constexpr i32 rowBytes = round_up(K, 64) * 2;
  return {x + (i64)first * rowBytes, rowBytes};
}

/// Prefetches a vector weight that is read after pdl_wait.
template <i32 Count> DEVICE void prefetch_vector(const float *vector) {
  for (i32 i = threadIdx.x * 32; i < Count; i += blockDim.x * 32)
    prefetch_l2(vector + i);
}

/// Specifies whether a kernel also finds the largest stored value of each token's row (FoldKeys) or not (NoKeys).
/// `keys`: one per token, raised to the key of the block's largest value (argmax_key).
struct NoKeys {
  static constexpr bool fold = false;
};
struct FoldKeys {
  static constexpr bool fold = true;
  u64 *keys;
};

/// For epilogues that have no operands, or none for which an early load saves time.
struct NothingHeld {
  MEMBER void operator()(i32, i32, float (&)[1]) const {}
};

/// Returns the number of chunks that a part has in flight, for `Weights` weights and 8N tokens: as many as
/// registers allow, rounded to whole blocks or to a divisor of a block.
template <class F, i32 N, i32 Weights> constexpr i32 decode_depth() {
  constexpr i32 perBlock = F::runsPerBlock / F::chunkRuns;
  constexpr i32 budget = N <= 2 ? 48 : N == 4 ? 40 : 24;
  constexpr i32 fits = budget / (F::registers * Weights), least = 2 / F::chunkRuns;
  constexpr i32 most = 8 / F::chunkRuns, own = fits < least ? least : fits > most ? most : fits;
  constexpr i32 wanted = INGOT_DEPTH ? INGOT_DEPTH / F::chunkRuns : own;
  if (wanted >= perBlock)
    return wanted / perBlock * perBlock;
  return wanted < 1 ? 1 : perBlock % wanted ? wanted - 1 : wanted;
}

/// Computes tokens first … first + Most - 1 (those below count; at most 8N) of rows 16 tile … 16 tile +
/// 15. `rows` is the number of rows of the weight. All threads call `tokens(n)` together; it returns
/// where the rows of the n tokens are. `load(token, row, held)` loads the epilogue's operands.
/// `store(token, row, sums, held)` gets the finished sums of each weight, for `Together` rows starting
/// at `row`. It returns the stored value if keys are folded.
template <class F, i32 K, i32 Parts, i32 N, i32 Most, i32 Held = 1, i32 Together = 1, i32 Weights,
          class Tokens, class Load, class Store, class Keys = NoKeys>
DEVICE void matmul_decode_of(const u8 *const (&weights)[Weights], Tokens tokens, i32 rows, i32 tile,
                             i32 first, const i64 *countOf, u8 *shared, Load load, Store store,
                             Keys keys = {}) {
  static_assert(Most <= 8 * N && (Together == 1 || !Keys::fold));
  using Cut = KParts<F, K, Parts>;
  constexpr i32 chunkRuns = F::chunkRuns, perBlock = F::runsPerBlock / chunkRuns;
  constexpr i32 depth = decode_depth<F, N, Weights>(), chunks = divide_up(Cut::runs, chunkRuns);
  constexpr i32 body = depth < perBlock ? perBlock : depth; ///< chunks in the loop's body
  const i32 lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const i32 begin = Cut::block(part) * perBlock, partEnd = Cut::block(part + 1) * perBlock;
  const i32 end = partEnd < chunks ? partEnd : chunks;
  const WeightStream stream = weight_stream(/*readOnce=*/true);
  auto placeOf = [&](i32 w) { // place in the block of the loop's first chunk
    return typename F::Place(weights[w] + tile * F::tileBytes(K) +
                             (i64)(begin / perBlock) * F::blockBytes);
  };
  typename F::Place at[2] = {placeOf(0), placeOf(Weights - 1)};

  struct Chunk {
    typename F::Run run[chunkRuns];
  };
  Chunk ring[depth][Weights];
  auto fetch = [&](i32 s, i32 number) { // loads chunk s of this iteration or of the next one
    UNROLL
    for (i32 w = 0; w < Weights; w++)
      F::load_chunk(ring[s % depth][w].run, at[w], s / perBlock * F::blockBytes, s % perBlock,
                    number, Cut::steps, stream);
  };
  UNROLL
  for (i32 s = 0; s < depth; s++)
    if (begin + s < end)
      fetch(s, begin + s);
  const i32 left = (i32)*countOf - first, count = left < Most ? left : Most;
  pdl_wait();
  if (count <= 0)
    return;

  constexpr i32 perToken = 16 / Together, results = perToken * 8 * N;
  constexpr bool early = results <= 32 * Parts && Held <= 2;
  float held[Held];
  auto hold = [&](i32 i) {
    if (i < results && i / perToken < count && tile * 16 + i % perToken * Together < rows)
      load(first + i / perToken, tile * 16 + i % perToken * Together, held);
  };
  if constexpr (early)
    hold(threadIdx.x);

  auto x = tokens(count);
  TokenFragments<N, decltype(x)> fragments(x, count, begin * chunkRuns * 128);
  float sum[Weights][N][4] = {};
  GroupSums<F, Weights, N> group;
  NO_UNROLL
  for (i32 from = begin; from < end; from += body) {
    UNROLL
    for (i32 s = 0; s < body; s++) {
      if (from + s >= end)
        break;
      UNROLL
      for (i32 u = 0; u < chunkRuns; u++) {
        const i32 r = (from + s) * chunkRuns + u;
        const bool cut = Cut::runs % chunkRuns != 0; // K may end in the middle of a chunk
        if (cut && r >= Cut::runs)
          break;
        typename F::Run run[Weights];
        UNROLL
        for (i32 w = 0; w < Weights; w++)
          run[w] = ring[s % depth][w].run[u];
        static_assert(F::group <= 64 || F::group == 64 * chunkRuns, "a group is a chunk");
        multiply_run<F>(
            sum, group, run, u + 1 == chunkRuns || (cut && r + 1 == Cut::runs),
            [&](i32 step, u32(&b)[N][2]) { fragments((s * chunkRuns + u) * 128, step, b); });
      }
      if (from + s + depth < end)
        fetch(s + depth, from + s + depth);
    }
    fragments.advance(body * chunkRuns * 128);
    UNROLL
    for (i32 w = 0; w < Weights; w++)
      at[w].advance(body / perBlock * F::blockBytes);
  }

  float *partial = (float *)shared;
  UNROLL
  for (i32 w = 0; w < Weights; w++) {
    UNROLL
    for (i32 n = 0; n < N; n++) {
      UNROLL
      for (i32 v = 0; v < 4; v++)
        partial[((part * Weights + w) * 8 * N + 8 * n + 2 * (lane % 4) + v % 2) * kSumStride +
                lane / 4 + v / 2 * 8] = sum[w][n][v] * F::unit;
    }
  }
  sync_block();
  for (i32 i = threadIdx.x; i < results; i += 32 * Parts) { // whole warps
    if constexpr (!early)
      hold(i);
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
        key = argmax_key(store(first + token, tile * 16 + row, sums, held), tile * 16 + row);
      else
        store(first + token, tile * 16 + row, sums, held);
    }
    if constexpr (Keys::fold) {
      key = max_key<8>(key); // over the 16 lanes of the token
      if (row == 0 && key)
        atomic_max(keys.keys + first + token, key);
    }
  }
}

/// The overload for rows of x in global memory.
template <class F, i32 K, i32 Parts, i32 N, i32 Held, i32 Weights, class Load, class Store,
          class Keys = NoKeys>
DEVICE void matmul_decode(const u8 *const (&weights)[Weights], const u8 *x, i32 rows, i32 tile,
                          i32 first, const i64 *countOf, u8 *shared, Load load, Store store,
                          Keys keys = {}) {
  matmul_decode_of<F, K, Parts, N, 8 * N, Held>(
      weights, [&](i32) { return rows_of<K>(x, first); }, rows, tile, first, countOf, shared, load,
      store, keys);
}
