//===- matmul_wgmma.cuh - Projections of many tokens on sm_90a --------------===//
//
// A block of three warpgroups computes 8 tiles of 16 rows (gated pair: 4 tiles of each weight) x 256
// tokens for a float weight, or 128 tokens for a quantised weight, because its groups need sums of their own. Two
// blocks with adjacent tiles form a cluster, and each of the two loads half of x for the cluster.
//
//   warpgroup 0      loads x: one thread requests boxes of half a stage x 64 k by multicast, into a
//                    ring of stages; with minimums all four warps sum x over each group
//   warpgroup 1, 2   multiply: warp w takes a tile (gated pair: warpgroup 1 takes the first weight,
//                    2 the second). A of wgmma is the same fragment as A of mma.sync
//
//   full[s]    the block's own thread has announced the stage's bytes, and both halves have arrived
//   sumsFull   128 arrivals: Σx of the stage's groups has been written
//   empty[s]   16 arrivals: each multiplying warp of both blocks has finished with the stage
//
//   shared memory   stages of x; Σx of groups; the sums of the previous parts, private to the thread
//                   that owns them; barriers. At the end the results overwrite stages and sums, so that
//                   a warp stores (and reads the epilogue's operands) along a row of y
//   registers       codes of this run and the next two; A of four steps; sums of this part and of
//                   this group
//
// The shape follows from the bandwidth of L2. The four tensor cores of an SM compute 16,384 multiplications in 8
// cycles. If a block had 128 rows x 128 tokens of bf16, it would need 512 bytes from L2 in that time, almost three
// times the bytes that L2 delivers (docs/gpu-kernels.md has the figures). Blocks that run at the same time cover a
// square of rows and tokens (`wgmma_place`), not a line of rows. Otherwise all of a large weight would be read from
// memory once for each 256 tokens.
//
// A fragment is unpacked while the wgmma instructions of the previous steps are in flight. A group ends with a wait,
// during which the other warpgroup works. Every sum has the same order as in matmul.cuh. It is not known whether the
// tensor cores round a wgmma as they round an mma.sync, and Σx is summed by plain additions. So the bits equal the bits
// of the other variants on the emulator, but may differ on a GPU.
//
// Rows of x beyond the last token have arbitrary contents: a token's sums do not depend on other rows.
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul.cuh"
#include "matmul_results.cuh"

USE_WGMMA(128)
USE_WGMMA(256)

constexpr i32 kWgmmaThreads = 384, kWgmmaCluster = 2;
/// The number of tokens that are computed by blocks which run together, so that a weight is read once for all these
/// tokens.
constexpr i32 kWgmmaTokensTogether = 2048;

/// The layout of the block's shared memory. It is the same for all formats, since the blocks of a
/// cluster may have different formats.
template <i32 Tokens> struct WgmmaShared {
  static constexpr i32 stages = INGOT_STAGES ? INGOT_STAGES : Tokens == 256 ? 3 : 4;
  static constexpr i32 stageBytes = Tokens * 128;
  static constexpr i32 sums = Tokens / 2; ///< sums per thread
  /// Floats of Σx in a stage: the smallest group with minimums has 16 values.
  static constexpr i32 stageSums = Tokens == 256 ? 0 : 4 * Tokens;
  static constexpr i32 bytes =
      stages * (stageBytes + 4 * stageSums) + 256 * sums * 4 + 3 * stages * 8;
  static_assert(result_bytes(Tokens) <= stages * stageBytes + 256 * sums * 4,
                "the results fit in the place of stages and totals");
  /// Registers per thread of warpgroup 0, and of the multiplying warpgroups.
  static constexpr int bringing = Tokens == 256 ? 24 : 40, multiplying = Tokens == 256 ? 240 : 232;

  u8 *stage;
  float4 *totals; ///< [sums / 4][256 threads]
  float *sumsOfX;
  u64 *full, *sumsFull, *empty;
  MEMBER explicit WgmmaShared(u8 *shared)
      : stage(shared), totals((float4 *)(shared + stages * stageBytes)),
        sumsOfX((float *)(totals + 256 * sums / 4)), full((u64 *)(sumsOfX + stages * stageSums)),
        sumsFull(full + stages), empty(sumsFull + stages) {}
};

/// The part of the result that a block computes: its number along the row tiles, and its first token.
/// Clusters are numbered in the order in which the GPU starts them. The first clusters share the same row
/// tiles and cover kWgmmaTokensTogether tokens. The next clusters take the next row tiles for the same
/// tokens, and so on to the last row tile. Then the next tokens follow.
struct WgmmaPlace {
  i32 block, first;
};
template <i32 Tokens> DEVICE WgmmaPlace wgmma_place() {
  constexpr u32 together = kWgmmaTokensTogether / Tokens;
  const u32 across = gridDim.x / kWgmmaCluster;
  const u32 number = blockIdx.x / kWgmmaCluster + across * blockIdx.y;
  const u32 group = number / (across * together), in = number % (across * together);
  const u32 left = gridDim.y - group * together, high = left < together ? left : together;
  return {(i32)(in / high * kWgmmaCluster + blockIdx.x % kWgmmaCluster),
          (i32)((group * together + in % high) * Tokens)};
}

/// Computes Σx of each group of a stage, in order of k, one token per thread. For a group longer than a
/// stage it continues `sum`, the sum of the group so far.
template <class F> DEVICE void sum_tokens(const u8 *stage, float *sumsOfX, float &sum) {
  const i32 token = threadIdx.x % 128;
  if constexpr (F::group <= 64)
    sum = 0.0f;
  UNROLL
  for (i32 chunk = 0; chunk < 8; chunk++) {
    const uint4 v = *(const uint4 *)(stage + swizzle128(token * 128 + chunk * 16));
    const u32 words[4] = {v.x, v.y, v.z, v.w};
    UNROLL
    for (i32 i = 0; i < 4; i++)
      sum = sum + bf16_lo(words[i]) + bf16_hi(words[i]);
    if constexpr (F::group <= 64)
      if ((chunk + 1) * 8 % F::group == 0) {
        sumsOfX[chunk * 8 / F::group * 128 + token] = sum * (1.0f / F::unit);
        sum = 0.0f;
      }
  }
  if constexpr (F::group > 64)
    sumsOfX[token] = sum * (1.0f / F::unit);
}

/// Does the work of warpgroup 0, which is to load x. `used`: stages that have already passed through the ring.
template <class F, i32 K, i32 Tokens>
DEVICE void bring_tokens(const WgmmaShared<Tokens> &at, const TensorMap *x, i32 first,
                         i32 used = 0) {
  using Shared = WgmmaShared<Tokens>;
  constexpr i32 runs = divide_up(K, 64), lag = F::hasMin ? Shared::stages - 1 : 0;
  const i32 thread = threadIdx.x, half = (i32)cluster_rank();
  if (!F::hasMin && thread != 0)
    return;
  float sum = 0.0f; // of the current group
  NO_UNROLL
  for (i32 r = 0; r < runs + lag; r++) {
    if (thread == 0 && r < runs) {
      const i32 s = (used + r) % Shared::stages;
      if (used + r >= Shared::stages)
        mbar_wait(at.empty + s, ((used + r) / Shared::stages - 1) & 1);
      mbar_arrive_expect_tx(at.full + s, Shared::stageBytes);
      tensor_load_2d_multicast(at.stage + s * Shared::stageBytes + half * Shared::stageBytes / 2, x,
                               r * 64, first + half * Tokens / 2, at.full + s, 3);
    }
    if constexpr (F::hasMin) {
      static_assert(Tokens == 128, "a thread sums a token");
      if (r < lag)
        continue;
      const i32 s = (used + r - lag) % Shared::stages;
      mbar_wait(at.full + s, (used + r - lag) / Shared::stages & 1);
      if (F::group > 64 && (r - lag) % (F::group / 64) == 0)
        sum = 0.0f;
      sum_tokens<F>(at.stage + s * Shared::stageBytes, at.sumsOfX + s * Shared::stageSums, sum);
      mbar_arrive(at.sumsFull + s);
    }
  }
}

/// sum += scale * dot + minimum * Σx for group `i` of the run.
template <class F, i32 Sums>
DEVICE void add_wgmma_group(float (&sum)[Sums], const float (&dot)[Sums],
                            const typename F::Run &run, i32 i, const float *sumsOfX) {
  UNROLL
  for (i32 half = 0; half < 2; half++) {
    const float scale = F::scale(run, i, half), minimum = F::hasMin ? F::minimum(run, i, half) : 0;
    UNROLL
    for (i32 j = 0; j < Sums / 4; j++) {
      UNROLL
      for (i32 odd = 0; odd < 2; odd++) {
        float &s = sum[4 * j + 2 * half + odd];
        s = fma_f32(scale, dot[4 * j + 2 * half + odd], s);
        if constexpr (F::hasMin)
          s = fma_f32(minimum, sumsOfX[i * 2 * Sums + 8 * j + threadIdx.x % 4 * 2 + odd], s);
      }
    }
  }
}

/// Multiplies one run of 64 k of a float weight. wgmma accumulates directly into the part's sums.
template <class F, i32 Sums>
DEVICE void multiply_float_run(float (&sum)[Sums], const typename F::Run &run, const u8 *stage) {
  u32 a[4][4], rest[4][4];
  UNROLL
  for (i32 step = 0; step < 4; step++) {
    F::fragment(a[step], run, step);
    if constexpr (F::split)
      F::rest(rest[step], run, step);
  }
  wgmma_fence();
  UNROLL
  for (i32 step = 0; step < 4; step++) {
    const u64 b = wgmma_descriptor(stage + step * 32);
    wgmma_rs<2 * Sums>(sum, a[step], b);
    if constexpr (F::split)
      wgmma_rs<2 * Sums>(sum, rest[step], b);
  }
  wgmma_commit();
  wgmma_wait<0>();
  keep(sum);
}

/// Multiplies one run of a quantised weight. `last`: the part ends with it.
template <class F, i32 Sums>
DEVICE void multiply_code_run(float (&sum)[Sums], float (&dot)[Sums], const typename F::Run &run,
                              i32 r, bool last, const u8 *stage, const float *sumsOfX) {
  u32 a[4][4];
  UNROLL
  for (i32 step = 0; step < 4; step++) {
    F::fragment(a[step], run, step);
    const bool starts =
        F::group > 64 ? step == 0 && r % (F::group / 64) == 0 : step * 16 % F::group == 0;
    wgmma_fence();
    wgmma_rs<2 * Sums>(dot, a[step], wgmma_descriptor(stage + step * 32), !starts);
    wgmma_commit();
    if constexpr (F::group <= 64)
      if ((step + 1) * 16 % F::group == 0) {
        wgmma_wait<0>();
        keep(dot);
        add_wgmma_group<F>(sum, dot, run, step * 16 / F::group, sumsOfX);
      }
  }
  if constexpr (F::group > 64) {
    wgmma_wait<0>();
    keep(dot);
    if (last || (r + 1) % (F::group / 64) == 0)
      add_wgmma_group<F>(sum, dot, run, 0, sumsOfX);
  }
}

/// Does the work of warpgroups 1 and 2, which is to compute the sums of the warp's tile over all of K. `used`: as for
/// bring_tokens.
template <class F, i32 K, i32 Parts, i32 Tokens>
DEVICE void multiply_tokens(float (&sum)[Tokens / 2], const WgmmaShared<Tokens> &at, const u8 *tile,
                            WeightStream stream, i32 used = 0) {
  using Cut = KParts<F, K, Parts>;
  using Shared = WgmmaShared<Tokens>;
  constexpr i32 sums = Tokens / 2;
  const i32 lane = threadIdx.x % 32;
  float4 *const totals = at.totals + threadIdx.x - 128;
  float dot[F::isFloat ? 1 : sums] = {};
  typename F::Run run, next, later;
  F::load(next, tile, 0, Cut::steps, stream);
  if (Cut::runs > 1)
    F::load(later, tile, 1, Cut::steps, stream);
  UNROLL
  for (i32 i = 0; i < sums; i++)
    sum[i] = 0.0f;
  i32 part = 0;
  NO_UNROLL
  for (i32 r = 0; r < Cut::runs; r++) {
    if (r == Cut::begin(part + 1)) { // a part ends (several, if some are empty)
      if (r > 0) {
        UNROLL
        for (i32 i = 0; i < sums; i += 4) {
          float4 total = {sum[i] * F::unit, sum[i + 1] * F::unit, sum[i + 2] * F::unit,
                          sum[i + 3] * F::unit};
          if (Cut::begin(part) > 0) { // the first part has no total to add to: 0 + x is x
            const float4 before = totals[i / 4 * 256];
            total.x = before.x + total.x, total.y = before.y + total.y;
            total.z = before.z + total.z, total.w = before.w + total.w;
          }
          totals[i / 4 * 256] = total;
          sum[i] = sum[i + 1] = sum[i + 2] = sum[i + 3] = 0.0f;
        }
      }
      do
        part++;
      while (r == Cut::begin(part + 1));
    }
    run = next, next = later;
    if (r + 2 < Cut::runs)
      F::load(later, tile, r + 2, Cut::steps, stream);
    const i32 s = (used + r) % Shared::stages;
    const u8 *const stage = at.stage + s * Shared::stageBytes;
    mbar_wait(at.full + s, (used + r) / Shared::stages & 1);
    if constexpr (F::hasMin)
      mbar_wait(at.sumsFull + s, (used + r) / Shared::stages & 1);
    if constexpr (F::isFloat)
      multiply_float_run<F>(sum, run, stage);
    else
      multiply_code_run<F>(sum, dot, run, r, r + 1 == Cut::begin(part + 1), stage,
                           at.sumsOfX + s * Shared::stageSums);
    sync_warp();
    if (lane < kWgmmaCluster)
      mbar_arrive_remote_relaxed(at.empty + s, lane);
  }
  if constexpr (F::unit != 1) {
    UNROLL
    for (i32 i = 0; i < sums; i++)
      sum[i] *= F::unit;
  }
  if (Cut::begin(part) > 0) {
    UNROLL
    for (i32 i = 0; i < sums; i += 4) {
      const float4 before = totals[i / 4 * 256];
      sum[i] = before.x + sum[i], sum[i + 1] = before.y + sum[i + 1];
      sum[i + 2] = before.z + sum[i + 2], sum[i + 3] = before.w + sum[i + 3];
    }
  }
}

/// Initialises the ring. Called by all threads of all blocks of the cluster before any of them uses it.
template <i32 Tokens> DEVICE void start_ring(const WgmmaShared<Tokens> &at, const TensorMap *x) {
  if (threadIdx.x == 0) {
    tensor_prefetch(x);
    UNROLL
    for (i32 s = 0; s < WgmmaShared<Tokens>::stages; s++) {
      mbar_init(at.full + s, 1);
      mbar_init(at.sumsFull + s, 128);
      mbar_init(at.empty + s, 8 * kWgmmaCluster);
    }
    fence_mbar_init();
  }
  cluster_arrive_relaxed();
  cluster_wait();
}

/// Computes tokens first … first + Tokens - 1 of tiles tile … tile + 7 (gated pairs: + 3). `load`,
/// `store`: matmul_results.cuh.
template <class F, i32 K, i32 Parts, i32 Tokens, i32 Held, i32 Weights, class Load, class Store>
DEVICE void matmul_wgmma(const u8 *const (&weights)[Weights], const TensorMap *x, i32 rows,
                         i32 tile, i32 first, const i64 *countOf, u8 *shared, Load load,
                         Store store) {
  using Shared = WgmmaShared<Tokens>;
  const Shared at(shared);
  const i32 tokens = (i32)*countOf; // part of the batch, which no kernel writes
  start_ring(at, x);
  pdl_wait();
  if (first >= tokens) // true for all blocks of the cluster or for none
    return;
  if (threadIdx.x < 128) {
    setmaxnreg_dec<Shared::bringing>();
    bring_tokens<F, K>(at, x, first);
    return;
  }
  setmaxnreg_inc<Shared::multiplying>();
  float sum[Tokens / 2];
  multiply_tokens<F, K, Parts>(sum, at, own_tile<F, K>(weights, rows, tile),
                               weight_stream(tokens <= Tokens));
  // The peer copies nothing more, but may still arrive at this block's `empty` barriers, so this block
  // must not exit yet.
  cluster_arrive_relaxed();

  float *const results = (float *)shared;
  leave_results<Tokens>(results, sum);
  const i32 count = (i32)*countOf; // read again: registers are scarce above
  store_results<Tokens, Held, Weights>(results, threadIdx.x / 32 - 4, rows, tile, first, count,
                                       load, store);
  cluster_wait();
}
