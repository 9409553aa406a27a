//===- matmul_experts_wgmma.cuh - Experts that have many rows, on sm_90a ------===//
//
// The blocks, the ring and the order of every sum are the same as in matmul_wgmma.cuh. There are two differences: a
// tile of tokens is 256 or 128 rows of one expert, and a cluster may have several tiles.
//
//   rows of x       expert 1: 300 rows                 expert 4: 90 rows   (in the order of experts)
//   tiles of 128    0: 128     1: 128     2: 44        3: 90
//   number          0          1          2            3                   wgmma_place; + gridDim.y
//
// The rows of x are already in the order of experts, so a box is consecutive rows. The box of an
// expert's last tile includes the memory after it: rows of the next expert, or nothing. This memory becomes columns of
// B. The sums of these columns are not stored, and no sum depends on another column.
//
// Results overwrite the stages. So the blocks of a cluster synchronise after each tile, before either of
// them requests x of the next tile. Most blocks have only one tile.
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul_experts.cuh"
#include "matmul_wgmma.cuh"

/// Computes tiles tile … tile + 7 (gated pairs: + 3) of each expert's matrix for the block's tiles of
/// rows. Matrices are `matrixBytes` apart. `load(expert, token, row, held)`, `store(expert, token, row,
/// sums, held)`: matmul_results.cuh; a token is a row of x.
template <class F, i32 K, i32 Parts, i32 Held, i32 Used, i32 Tokens, i32 Weights, class Load,
          class Store>
DEVICE void matmul_experts_wgmma(const u8 *const (&stacks)[Weights], i64 matrixBytes,
                                 const TensorMap *x, i32 rows, i32 tile,
                                 RowTiles<Used, Tokens> tiles, u8 *shared, Load load, Store store) {
  using Shared = WgmmaShared<Tokens>;
  constexpr i32 runs = KParts<F, K, Parts>::runs;
  const Shared at(shared);
  pdl_wait();
  RowTile own = *tiles;
  if (own.first == own.end) // true for all blocks of the cluster or for none
    return;
  start_ring(at, x);
  i32 used = 0; // stages of the ring
  if (threadIdx.x < 128) {
    setmaxnreg_dec<Shared::bringing>();
    NO_UNROLL
    for (; own.first != own.end; own = *++tiles) {
      bring_tokens<F, K>(at, x, own.first, used);
      used += runs;
      sync_warp();
      cluster_sync();
    }
    return;
  }
  setmaxnreg_inc<Shared::multiplying>();
  NO_UNROLL
  for (; own.first != own.end; own = *++tiles) {
    const u8 *weights[Weights];
    UNROLL
    for (i32 w = 0; w < Weights; w++)
      weights[w] = stacks[w] + own.expert * matrixBytes;
    float sum[Tokens / 2];
    multiply_tokens<F, K, Parts>(sum, at, own_tile<F, K>(weights, rows, tile), weight_stream(false),
                                 used);
    used += runs;
    float *const results = (float *)shared;
    leave_results<Tokens>(results, sum);
    store_results<Tokens, Held, Weights>(
        results, threadIdx.x / 32 - 4, rows, tile, own.first, own.end,
        [&](i32 token, i32 row, float (&held)[Held]) { load(own.expert, token, row, held); },
        [&](i32 token, i32 row, const float (&sums)[Weights], const float (&held)[Held]) {
          store(own.expert, token, row, sums, held);
        });
    fence_proxy_async(); // the copy engine next overwrites the results
    cluster_sync();
  }
}
