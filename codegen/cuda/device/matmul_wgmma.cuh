//===- matmul_wgmma.cuh - Projections of many tokens on sm_90a --------------===//
//
// A block of three warpgroups makes 8 tiles of 16 rows (of a pair: 4 tiles of both weights) x 128
// tokens:
//
//   warpgroup 0      brings x: a ring of stages of 128 tokens x 64 k, swizzled, by cp.async; with
//                    minimums it also sums x over each group, as it has nothing else to do
//   warpgroup 1, 2   multiply: warp w takes a tile (of a pair: warpgroup 1 the first weight,
//                    2 the second), whose fragment is A of wgmma as it is A of mma.sync
//
//   full[s]    128 arrivals: each thread that copied has waited for its copies and fenced them for
//              the engine that wgmma reads with
//   empty[s]   8 arrivals: each warp that multiplies is through with the stage
//
//   shared memory   stages of x; Σx of groups; the sums of the parts before, private to the thread
//                   that owns them; barriers
//   registers       codes of this run and the next two; A of four steps; sums of this part and of
//                   this group
//
// A fragment is unpacked while the products of the steps before are under way; a group ends with a
// wait, which the other warpgroup fills. The order of every sum is that of matmul.cuh. Whether the
// tensor cores round a wgmma as they round an mma.sync is not known, and Σx is summed by plain
// additions: bits are those of the other variants on the emulator and need not be on a GPU.
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul.cuh"

USE_WGMMA(128)

constexpr i32 kWgmmaThreads = 384, kWgmmaTokens = 128, kWgmmaStages = 4;
constexpr i32 kWgmmaStageBytes = kWgmmaTokens * 128;
constexpr i32 kWgmmaSums = kWgmmaTokens / 2; ///< of a thread
/// Floats of Σx in a stage: the smallest group with minimums has 32 values.
constexpr i32 kWgmmaSumsOfX = 2 * kWgmmaTokens;
/// Runs whose copies are under way while one is handed over.
constexpr i32 kWgmmaLag = 2;

/// What lies where in the block's shared memory.
struct WgmmaShared {
  u8 *stages;
  float *sumsOfX, *totals;
  u64 *full, *empty;
  MEMBER explicit WgmmaShared(u8 *shared)
      : stages(shared), sumsOfX((float *)(shared + kWgmmaStages * kWgmmaStageBytes)),
        totals(sumsOfX + kWgmmaStages * kWgmmaSumsOfX), full((u64 *)(totals + 256 * kWgmmaSums)),
        empty(full + kWgmmaStages) {}
};
constexpr i32 matmul_wgmma_shared() {
  return kWgmmaStages * (kWgmmaStageBytes + 4 * kWgmmaSumsOfX) + 256 * kWgmmaSums * 4 +
         2 * kWgmmaStages * 8;
}

/// Σx of each group of a stage, in order of k. A thread takes a token.
template <class F> DEVICE void sum_tokens(const u8 *stage, float *sumsOfX) {
  const i32 token = threadIdx.x % 128;
  float sum = 0.0f;
  UNROLL
  for (i32 chunk = 0; chunk < 8; chunk++) {
    const uint4 v = *(const uint4 *)(stage + swizzle128(token * 128 + chunk * 16));
    const u32 words[4] = {v.x, v.y, v.z, v.w};
    UNROLL
    for (i32 i = 0; i < 4; i++)
      sum = sum + bf16_lo(words[i]) + bf16_hi(words[i]);
    if ((chunk + 1) * 8 % F::group == 0) {
      sumsOfX[chunk * 8 / F::group * kWgmmaTokens + token] = sum;
      sum = 0.0f;
    }
  }
}

/// Warpgroup 0. Rows beyond the last token become 0.
template <class F, i32 K>
DEVICE void bring_tokens(const WgmmaShared &at, const u8 *x, i32 first, i32 count) {
  constexpr i32 rowBytes = round_up(K, 64) * 2, runs = divide_up(K, 64);
  const i32 thread = threadIdx.x % 128, token = thread / 8, chunk = thread % 8;
  const u8 *from = x + (i64)(first + token) * rowBytes + chunk * 16;
  const i32 left = count - first - token;
  NO_UNROLL
  for (i32 r = 0; r < runs + kWgmmaLag; r++) {
    if (r < runs) {
      const i32 s = r % kWgmmaStages;
      if (r >= kWgmmaStages)
        mbar_wait(at.empty + s, (r / kWgmmaStages - 1) & 1);
      u8 *stage = at.stages + s * kWgmmaStageBytes;
      UNROLL
      for (i32 i = 0; i < kWgmmaTokens / 16; i++) {
        const bool inside = 16 * i < left;
        cp_async16(stage + swizzle128((16 * i + token) * 128 + chunk * 16),
                   inside ? from + 16 * i * rowBytes + r * 128 : x, inside ? 16 : 0);
      }
    }
    cp_async_commit();
    if (r >= kWgmmaLag) {
      const i32 s = (r - kWgmmaLag) % kWgmmaStages;
      cp_async_wait<kWgmmaLag>();
      fence_proxy_async();
      if constexpr (F::hasMin) {
        sync_named(1, 128); // whole rows are there
        sum_tokens<F>(at.stages + s * kWgmmaStageBytes, at.sumsOfX + s * kWgmmaSumsOfX);
      }
      mbar_arrive(at.full + s);
    }
  }
}

/// sum += dot and Σx of group `i` of the run, scaled.
template <class F>
DEVICE void add_wgmma_group(float (&sum)[kWgmmaSums], const float (&dot)[kWgmmaSums],
                            const typename F::Run &run, i32 i, const float *sumsOfX) {
  UNROLL
  for (i32 half = 0; half < 2; half++) {
    const float scale = F::scale(run, i, half), minimum = F::hasMin ? F::minimum(run, i, half) : 0;
    UNROLL
    for (i32 j = 0; j < kWgmmaSums / 4; j++) {
      UNROLL
      for (i32 odd = 0; odd < 2; odd++) {
        float &s = sum[4 * j + 2 * half + odd];
        s = fma_f32(scale, dot[4 * j + 2 * half + odd], s);
        if constexpr (F::hasMin)
          s = fma_f32(minimum, sumsOfX[i * kWgmmaTokens + 8 * j + threadIdx.x % 4 * 2 + odd], s);
      }
    }
  }
}

/// One run of 64 k. `last`: the part ends here.
template <class F>
DEVICE void multiply_wgmma_run(float (&sum)[kWgmmaSums], float (&dot)[kWgmmaSums],
                               const typename F::Run &run, i32 r, bool last, const u8 *stage,
                               const float *sumsOfX) {
  u32 a[4][4], rest[4][4];
  UNROLL
  for (i32 step = 0; step < 4; step++) {
    const u64 b = wgmma_descriptor(stage + step * 32);
    F::fragment(a[step], run, step);
    if constexpr (F::isFloat) {
      if constexpr (F::split)
        F::rest(rest[step], run, step);
      wgmma_fence();
      wgmma_rs<kWgmmaTokens>(sum, a[step], b);
      if constexpr (F::split)
        wgmma_rs<kWgmmaTokens>(sum, rest[step], b);
      wgmma_commit();
    } else {
      const bool starts =
          F::group > 64 ? step == 0 && r % (F::group / 64) == 0 : step * 16 % F::group == 0;
      wgmma_fence();
      wgmma_rs<kWgmmaTokens>(dot, a[step], b, !starts);
      wgmma_commit();
      if constexpr (F::group <= 64)
        if ((step + 1) * 16 % F::group == 0) {
          wgmma_wait<0>();
          keep(dot);
          add_wgmma_group<F>(sum, dot, run, step * 16 / F::group, sumsOfX);
        }
    }
  }
  if constexpr (F::isFloat) {
    wgmma_wait<0>();
    keep(sum);
  } else if constexpr (F::group > 64) {
    wgmma_wait<0>();
    keep(dot);
    if (last || (r + 1) % (F::group / 64) == 0)
      add_wgmma_group<F>(sum, dot, run, 0, sumsOfX);
  }
}

/// Warpgroups 1 and 2: the sums of the warp's tile, all of K.
template <class F, i32 K, i32 Parts>
DEVICE void multiply_tokens(float (&sum)[kWgmmaSums], const WgmmaShared &at, const u8 *stream) {
  using Cut = KParts<F, K, Parts>;
  float *const totals = at.totals + threadIdx.x - 128;
  float dot[kWgmmaSums] = {};
  typename F::Run run, next, later;
  F::load(next, stream, 0, Cut::steps);
  if (Cut::runs > 1)
    F::load(later, stream, 1, Cut::steps);
  UNROLL
  for (i32 i = 0; i < kWgmmaSums; i++)
    sum[i] = 0.0f, totals[i * 256] = 0.0f;
  i32 part = 0;
  NO_UNROLL
  for (i32 r = 0; r < Cut::runs; r++) {
    while (r == Cut::begin(part + 1)) { // a part ends (several, if some are empty)
      UNROLL
      for (i32 i = 0; i < kWgmmaSums; i++) {
        totals[i * 256] += sum[i];
        sum[i] = 0.0f;
      }
      part++;
    }
    run = next, next = later;
    if (r + 2 < Cut::runs)
      F::load(later, stream, r + 2, Cut::steps);
    const i32 s = r % kWgmmaStages;
    mbar_wait(at.full + s, r / kWgmmaStages & 1);
    multiply_wgmma_run<F>(sum, dot, run, r, r + 1 == Cut::begin(part + 1),
                          at.stages + s * kWgmmaStageBytes, at.sumsOfX + s * kWgmmaSumsOfX);
    sync_warp();
    if (threadIdx.x % 32 == 0)
      mbar_arrive(at.empty + s);
  }
  UNROLL
  for (i32 i = 0; i < kWgmmaSums; i++)
    sum[i] += totals[i * 256];
}

/// Tokens first … first + 127 of tiles tile … tile + 7 (pairs: + 3).
template <class F, i32 K, i32 Parts, i32 Weights, class Store>
DEVICE void matmul_wgmma(const u8 *const (&weights)[Weights], const u8 *x, i32 rows, i32 tile,
                         i32 first, const i64 *countOf, u8 *shared, Store store) {
  const i32 thread = threadIdx.x, lane = thread % 32;
  const WgmmaShared at(shared);
  pdl_wait();
  const i32 count = (i32)*countOf;
  if (first >= count)
    return;
  if (thread == 0) {
    UNROLL
    for (i32 s = 0; s < kWgmmaStages; s++) {
      mbar_init(at.full + s, 128);
      mbar_init(at.empty + s, 8);
    }
    fence_mbar_init();
  }
  sync_block();
  if (thread < 128) {
    setmaxnreg_dec<40>();
    bring_tokens<F, K>(at, x, first, count);
    return;
  }
  setmaxnreg_inc<232>();
  const i32 warp = thread / 32 % 4, group = thread / 128 - 1, tiles = divide_up(rows, 16);
  const i32 own = Weights == 2 ? tile + warp : tile + 4 * group + warp;
  const u8 *weight = Weights == 2 && group ? weights[Weights - 1] : weights[0];
  float sum[kWgmmaSums];
  multiply_tokens<F, K, Parts>(sum, at, weight + (own < tiles ? own : tiles - 1) * F::tileBytes(K));

  const i32 row = own * 16 + lane / 4, token = first + 2 * (lane % 4);
  if constexpr (Weights == 1) {
    UNROLL
    for (i32 i = 0; i < kWgmmaSums; i++) {
      const i32 t = token + i / 4 * 8 + i % 2, n = row + i / 2 % 2 * 8;
      const float sums[1] = {sum[i]};
      if (t < count && n < rows)
        store(t, n, sums);
    }
  } else {
    // The same place of the two warpgroups is the same row and token: each finishes half of them.
    float *const mine = at.totals + thread - 128, *const other = at.totals + ((thread - 128) ^ 128);
    UNROLL
    for (i32 i = 0; i < kWgmmaSums; i++)
      mine[i * 256] = sum[i];
    sync_named(2, 256);
    NO_UNROLL
    for (i32 from = 0; from < kWgmmaSums / 2; from += 4) {
      UNROLL
      for (i32 v = 0; v < 4; v++) {
        const i32 i = group * kWgmmaSums / 2 + from + v;
        const i32 t = token + i / 4 * 8 + v % 2, n = row + v / 2 * 8;
        const float own = mine[i * 256], theirs = other[i * 256];
        const float sums[2] = {group ? theirs : own, group ? own : theirs};
        if (t < count && n < rows)
          store(t, n, sums);
      }
    }
  }
}
