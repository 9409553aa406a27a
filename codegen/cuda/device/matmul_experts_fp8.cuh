//===- matmul_experts_fp8.cuh - Experts that have many rows, in fp8 (sm_90a) ---===//
//
// The blocks, the ring and the order of every sum are the same as in matmul_wgmma_fp8.cuh. As in
// matmul_experts_wgmma.cuh, blocks take tiles of 128 rows of one expert, but without clusters. After an expert's last
// row the stages hold zeros.
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul_experts.cuh"
#include "matmul_wgmma_fp8.cuh"

/// matmul_experts_wgmma for rows of E4M3.
template <i32 K, i32 Held, i32 Used, i32 Weights, class Load, class Store>
DEVICE void matmul_experts_fp8(const u8 *const (&stacks)[Weights], i64 matrixBytes, const u8 *x,
                               i32 rows, i32 tile, RowTiles<Used, kFp8Tokens> tiles, u8 *shared,
                               Load load, Store store) {
  constexpr i32 groups = fp8_codes(K) / 128;
  const Fp8Shared at(shared);
  pdl_wait();
  RowTile own = *tiles;
  if (own.first == own.end)
    return;
  start_ring(at);
  i32 used = 0; // stages of the ring
  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();
    NO_UNROLL
    for (; own.first != own.end; own = *++tiles) {
      bring_fp8<K>(at, x, own.first, own.end, used);
      used += groups;
      sync_named(3, 384); // results are stored
    }
    return;
  }
  setmaxnreg_inc<232>();
  NO_UNROLL
  for (; own.first != own.end; own = *++tiles) {
    const u8 *weights[Weights];
    UNROLL
    for (i32 w = 0; w < Weights; w++)
      weights[w] = stacks[w] + own.expert * matrixBytes;
    float sum[kFp8Sums];
    multiply_fp8<K>(sum, at, own_tile<Fp8Format, K>(weights, rows, tile), weight_stream(false),
                    used);
    used += groups;
    float *const results = (float *)shared;
    leave_results<kFp8Tokens>(results, sum);
    store_results<kFp8Tokens, Held, Weights>(
        results, threadIdx.x / 32 - 4, rows, tile, own.first, own.end,
        [&](i32 token, i32 row, float (&held)[Held]) { load(own.expert, token, row, held); },
        [&](i32 token, i32 row, const float (&sums)[Weights], const float (&held)[Held]) {
          store(own.expert, token, row, sums, held);
        });
    sync_named(3, 384);
  }
}
