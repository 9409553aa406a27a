//===- gather.cuh - Embedding rows from packed weights ----------------------===//
#pragma once

#include "formats.cuh"

/// y[t] = scale * row ids[t] of the weight. A block a token.
template <class F, i32 K>
DEVICE void gather(const u8 *weight, float *y, const BatchView *batch, float scale) {
  constexpr i32 stride = round_up(K, 32);
  pdl_wait();
  const i32 token = blockIdx.x;
  if (token >= batch->tokens)
    return;
  i32 id = batch->ids[token];
  if (id < 0) // found by the step before, and not seen by the host yet
    id = batch->earlierIds[~id];
  for (i32 k = threadIdx.x; k < stride; k += blockDim.x)
    y[(i64)token * stride + k] = k < K ? F::value(weight, F::tileBytes(K), id, k) * scale : 0.0f;
}
