//===- batch.cuh - The batch of a step, for kernels -------------------------===//
//
// runtime/abi/Batch.h defines the layout, and CudaCodegen.cpp asserts that it is the same here. Pointers
// are device addresses. Rows of bf16 are padded with zeros to a multiple of 64 values, rows of f32 to
// a multiple of 32.
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

/// Keeps the compiler from unrolling a main loop. Its body is already unrolled by hand, and more copies
/// would only cost registers.
#define NO_UNROLL _Pragma("unroll 1")

/// DEVICE for member functions.
#ifdef __CUDACC__
#define MEMBER __device__ __forceinline__
#else
#define MEMBER inline __attribute__((always_inline))
#endif

constexpr i32 kPageTokens = 32; ///< positions per KV page

/// Consecutive tokens of one sequence.
struct AttentionTile {
  i32 firstToken, tokens, sequence, firstPosition;
};

/// The split of a decode tile (split-KV) that one block takes for each KV head.
struct AttentionSplit {
  i32 token, sequence, position, index, of, slot, counter, zero;
};

/// Describes how the token that follows a logits row is sampled.
struct RowSampling {
  u64 seed;
  double scale; ///< 1 / temperature; 0: greedy
  double least; ///< lower bound of (logit - largest) * scale
  u32 choice;
  i32 topK; ///< 0: all
  float topP;
  u32 zero;
};

/// Describes how a sequence with tokens in the step reads and writes its fixed states.
struct StateSpan {
  i32 firstToken, tokens, from, firstWrite, writes, zero;
};
struct StateWrite {
  i32 token, slot;
};

struct BatchView {
  i64 tokens, sequences, rows, tiles;
  const i32 *ids;                      ///< [tokens]; ~r: earlierIds[r]
  const i32 *positions;                ///< [tokens]
  const i32 *sequenceOf;               ///< [tokens] row of the block table
  const i32 *rowTokens;                ///< [rows]
  const AttentionTile *attentionTiles; ///< [tiles]
  const i32 *blockTable;               ///< [sequences][blockTableStride]
  i64 blockTableStride;
  const i32 *earlierIds;        ///< the previous step's tokens, indexed by its logits rows
  const RowSampling *sampling;  ///< [rows], if tokens are sampled
  const void *groupTables;      ///< for CPUs only
  const AttentionSplit *splits; ///< [splitCount]
  i64 splitCount;
  i64 promptTiles;             ///< the first attention tiles; the others decode
  const StateSpan *stateSpans; ///< [spanCount]
  i64 spanCount;
  const StateWrite *stateWrites;
};

constexpr i32 round_up(i32 value, i32 to) { return (value + to - 1) / to * to; }
constexpr i32 divide_up(i32 value, i32 by) { return (value + by - 1) / by; }

/// Adds the sums of the warps, in warp order.
template <i32 Warps> DEVICE float sum_of_warps(const float *partial) {
  float sum = partial[0];
  UNROLL
  for (i32 w = 1; w < Warps; w++)
    sum += partial[w];
  return sum;
}

/// Sum over the block, in warp order; `partial` holds a float per warp and is used once.
template <i32 Warps> DEVICE float block_sum(float value, float (&partial)[Warps]) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = value;
  sync_block();
  return sum_of_warps<Warps>(partial);
}

/// Writes zeros to columns From … To - 1, after the values, of rows first … end - 1. Nothing else writes
/// these columns.
template <i32 From, i32 To, class T> DEVICE void pad_rows(T *y, i32 first, i32 end) {
  if constexpr (From < To)
    for (i32 i = threadIdx.x; i < (end - first) * (To - From); i += blockDim.x)
      y[(i64)(first + i / (To - From)) * To + From + i % (To - From)] = 0;
}
