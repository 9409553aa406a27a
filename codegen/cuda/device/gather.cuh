//===- gather.cuh - Embedding rows from packed weights ----------------------===//
#pragma once

#include "formats.cuh"

/// Writes row `id` of a weight, times scale, to row `token` of y. The threads of the block divide the
/// row.
template <class F, i32 K>
DEVICE void gather_row(const u8 *weight, float *y, i32 token, i32 id, float scale) {
  constexpr i32 stride = round_up(K, 32);
  for (i32 k = threadIdx.x; k < stride; k += blockDim.x)
    y[(i64)token * stride + k] = k < K ? F::value(weight, F::tileBytes(K), id, k) * scale : 0.0f;
}

/// y[t] = row positions[t] of a table of `Rows` rows; positions beyond it use its last row. One block
/// per token.
template <class F, i32 K, i32 Rows>
DEVICE void gather_positions(const u8 *table, float *y, const BatchView *batch) {
  pdl_wait();
  const i32 token = blockIdx.x;
  if (token >= batch->tokens)
    return;
  const i32 position = batch->positions[token];
  gather_row<F, K>(table, y, token, position < Rows ? position : Rows - 1, 1.0f);
}

/// y[t] = scale * row ids[t] of the weight. One block per token.
template <class F, i32 K>
DEVICE void gather(const u8 *weight, float *y, const BatchView *batch, float scale) {
  pdl_wait();
  const i32 token = blockIdx.x;
  if (token >= batch->tokens)
    return;
  i32 id = batch->ids[token];
  if (id < 0) // sampled by the previous step; the host has not read it yet
    id = batch->earlierIds[~id];
  gather_row<F, K>(weight, y, token, id, scale);
}
