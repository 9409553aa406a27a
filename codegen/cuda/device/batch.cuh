//===- batch.cuh - What a step works on, as kernels see it ------------------===//
//
// runtime/abi/Batch.h is the definition (CudaCodegen.cpp asserts that the layouts are
// one); here pointers are addresses of the device. Rows of bf16 are padded with zeros to a multiple
// of 64 values, rows of f32 to a multiple of 32.
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

/// A main loop: its body is unrolled by hand, and copies of it would only take registers.
#define NO_UNROLL _Pragma("unroll 1")

/// DEVICE for functions of a class.
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

/// What one block, for each KV head, takes of a tile that decodes.
struct AttentionShare {
  i32 token, sequence, position, index, of, slot, counter, zero;
};

/// How the id behind a logits row is drawn.
struct RowSampling {
  u64 seed;
  double scale; ///< 1 / temperature; 0: greedy
  double least; ///< of (logit - largest) * scale
  u32 choice;
  i32 topK; ///< 0: all
  float topP;
  u32 zero;
};

/// What a sequence with tokens in the step does with its fixed states.
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
  const i32 *earlierIds;        ///< of the step before, by its logits rows
  const RowSampling *sampling;  ///< [rows], where ids are drawn
  const void *groupTables;      ///< of CPUs
  const AttentionShare *shares; ///< [shareCount]
  i64 shareCount;
  i64 promptTiles;             ///< the first of the attention tiles; those behind decode
  const StateSpan *stateSpans; ///< [spanCount]
  i64 spanCount;
  const StateWrite *stateWrites;
};

constexpr i32 round_up(i32 value, i32 to) { return (value + to - 1) / to * to; }
constexpr i32 divide_up(i32 value, i32 by) { return (value + by - 1) / by; }

/// The sums of warps, in their order.
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

/// Zeros behind the values of rows first … end - 1: columns From … To - 1, which nobody else
/// writes.
template <i32 From, i32 To, class T> DEVICE void pad_rows(T *y, i32 first, i32 end) {
  if constexpr (From < To)
    for (i32 i = threadIdx.x; i < (end - first) * (To - From); i += blockDim.x)
      y[(i64)(first + i / (To - From)) * To + From + i % (To - From)] = 0;
}
