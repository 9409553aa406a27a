//===- matmul_wgmma_fp8.cuh - Projections of many tokens in fp8 (sm_90a) ----===//
//
// E4M3 weights times E4M3 activations (fp8_rows.cuh), at twice the rate of bf16 and with half the bytes
// of x. A block of three warpgroups computes 8 tiles of 16 rows (gated pair: 4 tiles of each weight) x
// 128 tokens, as in matmul_wgmma.cuh:
//
//   warpgroup 0      loads x by cp.async: a ring of stages of 128 tokens x 128 k, swizzled, and the
//                    tokens' scales for these k
//   warpgroup 1, 2   multiply: the stored words of a warp's tile are A of wgmma unchanged, with four wgmma of 32 k per
//                    stage
//
//   full[s], empty[s]   as in matmul_wgmma.cuh; the results overwrite the stages as well
//
// There are two levels of sums. The tensor cores sum over 128 k, with a precision that is not documented but known to
// be less than f32. Then sum = fma(scale of w * scale of x, dot, sum) in f32, stage by stage in order of K. While one
// warpgroup adds, the other multiplies.
//===----------------------------------------------------------------------===//
#pragma once

#include "formats.cuh"
#include "fp8_rows.cuh"
#include "matmul_results.cuh"

USE_WGMMA(128)

constexpr i32 kFp8Tokens = 128, kFp8Stages = INGOT_STAGES ? INGOT_STAGES : 4, kFp8Lag = 2;
constexpr i32 kFp8StageBytes = kFp8Tokens * 128;
constexpr i32 kFp8Sums = kFp8Tokens / 2; ///< sums per thread

constexpr i32 fp8_shared_bytes() { return kFp8Stages * (kFp8StageBytes + kFp8Tokens * 4 + 2 * 8); }

/// The layout of the block's shared memory.
struct Fp8Shared {
  u8 *stages;
  float *scales; ///< scales of the tokens, per stage
  u64 *full, *empty;
  static_assert(result_bytes(kFp8Tokens) <= kFp8Stages * (kFp8StageBytes + kFp8Tokens * 4),
                "the results fit in the place of stages and scales");
  MEMBER explicit Fp8Shared(u8 *shared)
      : stages(shared), scales((float *)(shared + kFp8Stages * kFp8StageBytes)),
        full((u64 *)(scales + kFp8Stages * kFp8Tokens)), empty(full + kFp8Stages) {}
};

/// Warpgroup 0: a thread copies 16 bytes of every 16th token, and the scale of one token. Rows beyond
/// the last token become 0. `used`: stages that have already passed through the ring.
template <i32 K>
DEVICE void bring_fp8(const Fp8Shared &at, const u8 *x, i32 first, i32 count, i32 used = 0) {
  constexpr i32 rowBytes = fp8_row_bytes(K), groups = fp8_codes(K) / 128;
  const i32 thread = threadIdx.x, token = thread / 8, chunk = thread % 8;
  const u8 *from = x + (i64)(first + token) * rowBytes + chunk * 16;
  const i32 left = count - first - token;
  const bool own = first + thread < count;
  const u8 *scaleFrom = x + (i64)(own ? first + thread : first) * rowBytes + fp8_codes(K);
  NO_UNROLL
  for (i32 r = 0; r < groups + kFp8Lag; r++) {
    if (r < groups) {
      const i32 s = (used + r) % kFp8Stages;
      if (used + r >= kFp8Stages)
        mbar_wait(at.empty + s, ((used + r) / kFp8Stages - 1) & 1);
      u8 *stage = at.stages + s * kFp8StageBytes;
      UNROLL
      for (i32 i = 0; i < kFp8Tokens / 16; i++) {
        const bool inside = 16 * i < left;
        cp_async16(stage + swizzle128((16 * i + token) * 128 + chunk * 16),
                   inside ? from + 16 * i * rowBytes + r * 128 : x, inside ? 16 : 0);
      }
      cp_async4(at.scales + s * kFp8Tokens + thread, scaleFrom + r * 4, own ? 4 : 0);
    }
    cp_async_commit();
    if (r >= kFp8Lag) {
      cp_async_wait<kFp8Lag>();
      fence_proxy_async();
      mbar_arrive(at.full + (used + r - kFp8Lag) % kFp8Stages);
    }
  }
}

/// The codes and scales of 128 k of a tile.
struct Fp8Block {
  u32 code[16];
  float s[2];
};
DEVICE void load_fp8_block(Fp8Block &to, const u8 *tile, i32 r, WeightStream stream) {
  const i32 lane = threadIdx.x % 32;
  const u8 *block = tile + (i64)r * Fp8Format::blockBytes;
  UNROLL
  for (i32 i = 0; i < 4; i++) {
    const uint4 w = ld_stream((const uint4 *)(block + i * 512 + lane * 16), stream);
    to.code[4 * i] = w.x, to.code[4 * i + 1] = w.y, to.code[4 * i + 2] = w.z,
                to.code[4 * i + 3] = w.w;
  }
  const uint2 s = ld_stream((const uint2 *)Fp8Format::Place(block).scales, stream);
  to.s[0] = as_f32(s.x), to.s[1] = as_f32(s.y);
}

/// Warpgroups 1 and 2: computes the sums of the warp's tile over all of K. `used`: as for bring_fp8.
template <i32 K>
DEVICE void multiply_fp8(float (&sum)[kFp8Sums], const Fp8Shared &at, const u8 *tile,
                         WeightStream stream, i32 used = 0) {
  constexpr i32 groups = fp8_codes(K) / 128;
  float dot[kFp8Sums] = {};
  Fp8Block block, next, later;
  load_fp8_block(next, tile, 0, stream);
  if (groups > 1)
    load_fp8_block(later, tile, 1, stream);
  UNROLL
  for (i32 i = 0; i < kFp8Sums; i++)
    sum[i] = 0.0f;
  NO_UNROLL
  for (i32 r = 0; r < groups; r++) {
    block = next, next = later;
    if (r + 2 < groups)
      load_fp8_block(later, tile, r + 2, stream);
    const i32 s = (used + r) % kFp8Stages;
    mbar_wait(at.full + s, (used + r) / kFp8Stages & 1);
    wgmma_fence();
    UNROLL
    for (i32 i = 0; i < 4; i++) {
      const u32 a[4] = {block.code[4 * i], block.code[4 * i + 1], block.code[4 * i + 2],
                        block.code[4 * i + 3]};
      wgmma_rs<kFp8Tokens, Wgmma::e4m3>(
          dot, a, wgmma_descriptor(at.stages + s * kFp8StageBytes + 32 * i), i != 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    keep(dot);
    const float *scales = at.scales + s * kFp8Tokens + threadIdx.x % 4 * 2;
    UNROLL
    for (i32 j = 0; j < kFp8Sums / 4; j++) {
      UNROLL
      for (i32 v = 0; v < 4; v++) {
        float &to = sum[4 * j + v];
        to = fma_f32(block.s[v / 2] * scales[8 * j + v % 2], dot[4 * j + v], to);
      }
    }
    sync_warp();
    if (threadIdx.x % 32 == 0)
      mbar_arrive(at.empty + s);
  }
}

/// Initialises the ring. Called by all threads before any of them uses it.
DEVICE void start_ring(const Fp8Shared &at) {
  if (threadIdx.x == 0) {
    UNROLL
    for (i32 s = 0; s < kFp8Stages; s++) {
      mbar_init(at.full + s, 128);
      mbar_init(at.empty + s, 8);
    }
    fence_mbar_init();
  }
  sync_block();
}

/// Computes tokens first … first + 127 of tiles tile … tile + 7 (gated pairs: + 3). `load`, `store`:
/// matmul_results.cuh.
template <i32 K, i32 Held, i32 Weights, class Load, class Store>
DEVICE void matmul_wgmma_fp8(const u8 *const (&weights)[Weights], const u8 *x, i32 rows, i32 tile,
                             i32 first, const i64 *countOf, u8 *shared, Load load, Store store) {
  const Fp8Shared at(shared);
  const i32 count = (i32)*countOf; // part of the batch, which no kernel writes
  pdl_wait();
  if (first >= count)
    return;
  start_ring(at);
  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();
    bring_fp8<K>(at, x, first, count);
    return;
  }
  setmaxnreg_inc<232>();
  float sum[kFp8Sums];
  multiply_fp8<K>(sum, at, own_tile<Fp8Format, K>(weights, rows, tile),
                  weight_stream(count <= kFp8Tokens));

  float *const results = (float *)shared;
  leave_results<kFp8Tokens>(results, sum);
  store_results<kFp8Tokens, Held, Weights>(results, threadIdx.x / 32 - 4, rows, tile, first, count,
                                           load, store);
}
