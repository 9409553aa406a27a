//===- causal_conv.cuh - Convolutions of each channel over its sequence -----===//
//
// A block takes 128 channels of a sequence's tokens in this step, one channel per thread. A thread holds
// the History rows before a token in registers, so a snapshot of the state may overwrite the slot that
// was read. Products are rounded and added one by one, the oldest first. CPUs do the same and get the
// same bits (codegen/cpu/CausalConv.cpp).
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

constexpr i32 kConvChannels = 128; ///< channels per block
constexpr i32 kConvAhead = 8;      ///< number of tokens that a thread loads at once

/// x, y: f32 rows of Channels; weight: [History + 1][Channels]; a slot holds [History][Channels].
template <i32 Channels, i32 History, i64 SlotBytes>
DEVICE void causal_conv(const float *x, const float *weight, const float *bias, u8 *states,
                        float *y, const BatchView *batch) {
  constexpr i32 blocks = divide_up(Channels, kConvChannels), stride = round_up(Channels, 32);
  pdl_wait();
  const i32 number = blockIdx.x / blocks,
            channel = blockIdx.x % blocks * kConvChannels + threadIdx.x;
  if (number >= batch->spanCount || channel >= stride)
    return;
  const StateSpan span = batch->stateSpans[number];
  const bool exists = channel < Channels; // the other channels are padding of y
  auto slot = [&](i32 index) { return (float *)(states + (i64)index * SlotBytes) + channel; };
  float weights[History + 1], before[History];
  UNROLL
  for (i32 i = 0; i <= History; i++)
    weights[i] = exists ? weight[i * Channels + channel] : 0.0f;
  UNROLL
  for (i32 i = 0; i < History; i++)
    before[i] = exists && span.from >= 0 ? slot(span.from)[i * Channels] : 0.0f;
  const float added = exists && bias ? bias[channel] : 0.0f;
  x += (i64)span.firstToken * stride + channel;
  y += (i64)span.firstToken * stride + channel;
  const StateWrite *write = batch->stateWrites + span.firstWrite, *last = write + span.writes;
  NO_UNROLL
  for (i32 t = 0; t < span.tokens; t += kConvAhead) {
    float rows[kConvAhead];
    UNROLL
    for (i32 i = 0; i < kConvAhead; i++)
      rows[i] = t + i < span.tokens ? x[(i64)(t + i) * stride] : 0.0f;
    UNROLL
    for (i32 i = 0; i < kConvAhead; i++) {
      if (t + i >= span.tokens)
        break;
      float sum = weights[0] * before[0];
      UNROLL
      for (i32 j = 1; j < History; j++)
        sum = sum + weights[j] * before[j];
      sum = sum + weights[History] * rows[i];
      y[(i64)(t + i) * stride] = exists ? (bias ? sum + added : sum) : 0.0f;
      UNROLL
      for (i32 j = 0; j + 1 < History; j++)
        before[j] = before[j + 1];
      before[History - 1] = rows[i];
      for (; write < last && write->token == span.firstToken + t + i; write++)
        if (exists) {
          UNROLL
          for (i32 j = 0; j < History; j++)
            slot(write->slot)[j * Channels] = before[j];
        }
    }
  }
}
