//===- sample.cuh - Argmax of logits rows, on the device ---------------------===//
//
// Argmax takes two launches. Each block of the first one takes a piece of a row. The blocks of a row
// combine their results by a 64-bit atomic maximum, which does not depend on their order:
//
//   key = (bits of the logit, made to sort as unsigned) << 32 | ~index
//
// Among equal logits the lower index wins.
//
// Projections of few logits rows update the keys themselves (matmul_decode.cuh); then the first launch
// is omitted.
//
// The second launch turns keys into tokens and resets the keys to 0 for the next step. The tokens equal the results of
// `argmax` in runtime/sample/Sampler.h, also for NaN and for zeros of both signs.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

constexpr i32 kArgmaxPieces = 16, kArgmaxWarps = 8;

DEVICE u64 argmax_key(float logit, i32 index) {
  // -0 + 0 is 0, so both zeros give the same key.
  const u32 bits = as_u32(logit + 0.0f), sorted = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return logit == logit ? (u64)sorted << 32 | (u32)~index : 0; // NaN ranks below all numbers
}

/// Returns the logit of a key that is not 0.
DEVICE float logit_of_key(u64 key) {
  const u32 sorted = (u32)(key >> 32);
  return as_f32(sorted & 0x80000000u ? sorted ^ 0x80000000u : ~sorted);
}

// Shuffles of 64 bits.
DEVICE u64 shfl_xor_u64(u64 value, i32 distance) {
  const u32 hi = shfl_xor((u32)(value >> 32), distance), lo = shfl_xor((u32)value, distance);
  return (u64)hi << 32 | lo;
}
DEVICE u64 shfl_up_u64(u64 value, i32 distance) {
  const u32 hi = shfl_up((u32)(value >> 32), distance), lo = shfl_up((u32)value, distance);
  return (u64)hi << 32 | lo;
}

/// Returns the largest key over lanes, at distances First, First / 2, … 1.
template <i32 First> DEVICE u64 max_key(u64 key) {
  UNROLL
  for (i32 distance = First; distance; distance /= 2) {
    const u64 other = shfl_xor_u64(key, distance);
    key = other > key ? other : key;
  }
  return key;
}

template <i32 Width>
DEVICE void argmax_piece(const float *logits, u64 *keys, const BatchView *batch,
                         u64 (&best)[kArgmaxWarps]) {
  constexpr i32 stride = round_up(Width, 32), threads = 32 * kArgmaxWarps;
  pdl_wait();
  const i32 row = blockIdx.x / kArgmaxPieces, piece = blockIdx.x % kArgmaxPieces;
  if (row >= batch->rows)
    return;
  u64 most = 0;
  for (i32 i = piece * threads + threadIdx.x; i < Width; i += kArgmaxPieces * threads) {
    const u64 key = argmax_key(logits[(i64)row * stride + i], i);
    most = key > most ? key : most;
  }
  most = max_key<16>(most);
  if (threadIdx.x % 32 == 0)
    best[threadIdx.x / 32] = most;
  sync_block();
  if (threadIdx.x == 0) {
    for (i32 w = 1; w < kArgmaxWarps; w++)
      most = best[w] > most ? best[w] : most;
    atomic_max(keys + row, most);
  }
}

template <i32 Threads> DEVICE void argmax_ids(u64 *keys, i32 *ids, const BatchView *batch) {
  pdl_wait();
  const i32 row = blockIdx.x * Threads + threadIdx.x;
  if (row >= batch->rows)
    return;
  ids[row] = keys[row] ? (i32) ~(u32)keys[row] : 0; // all logits are NaN: id 0
  keys[row] = 0;
}
