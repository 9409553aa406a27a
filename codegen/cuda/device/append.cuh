//===- append.cuh - Projections that rotate heads and fill the cache --------===//
//
// In steps of few tokens the projection of q, k and v does the work of rope_append (rope.cuh), if heads
// have no norms and the cache is bf16. A rotation pairs two rows of the weight, which must be in one
// thread:
//
//   interleaved   rows 2i, 2i + 1                 they are neighbours in a tile: one thread finishes both
//   half          rows i, i + headDim / 2         they are in two tiles (half_split_tile returns the lower).
//                                                 One block owns both tiles, as with a gated pair of weights
//
// The operations are the same as in rope_head and rope_append, and each is rounded once, so the bits are the same.
//===----------------------------------------------------------------------===//
#pragma once

#include "batch.cuh"

/// Returns the lower of the two tiles of block `number`. Half a head is a whole number of tiles.
constexpr i32 half_split_tile(i32 number, i32 headDim) {
  return number / (headDim / 32) * (headDim / 16) + number % (headDim / 32);
}

/// a' = a*cos - b*sin, b' = b*cos + a*sin, where pair `i` of the token's table row has the cosine and
/// the sine. S: rotary.
template <class S>
DEVICE void rotate_pair(const float *table, i32 token, i32 i, float &a, float &b) {
  const float *row = table + (i64)token * round_up(S::rotary, 32);
  const float cosine = row[i], sine = row[S::rotary / 2 + i], first = a * cosine - b * sine;
  b = b * cosine + a * sine;
  a = first;
}

/// Returns the address of element `row` of the token's keys (for values, add S::pageElements) in its
/// page of the pool. S: kvHeads, headDim.
template <class S> DEVICE u16 *append_place(u8 *pool, const BatchView *batch, i32 token, i32 row) {
  constexpr i32 pageBytes = round_up(2 * S::pageElements * 2, 64);
  const i32 position = batch->positions[token];
  const i64 page =
      batch
          ->blockTable[batch->sequenceOf[token] * batch->blockTableStride + position / kPageTokens];
  return (u16 *)(pool + page * pageBytes) +
         (row / S::headDim * kPageTokens + position % kPageTokens) * S::headDim + row % S::headDim;
}
