//===- KernelAbi.h - How the CPU device calls a generated kernel ----------===//
//
// Every kernel of an engine is a C function
//
//   void kernel(void *const *args, const BatchView *batch,
//               int64_t begin, int64_t end, int64_t step, char *scratch);
//
// It computes its work items begin, begin+step, … < end. What an item is, the
// kernel's grid says (engine.fbs, `Grid`):
//   Constant   a fixed count (matmul: panels of 32 rows, over all segments)
//   Tokens     one per token of the batch, times a factor
//   Rows       one per logits row, times a factor
//   Tiles      one per attention tile, times a factor (KV heads)
// The count is  base * factor. Items of one launch may run in any order on any
// thread: no item reads what another of the same launch writes, and results do
// not depend on how items are shared out.
//
// args[i] is the base address of the i-th operand of the kernel: a buffer of the
// arena, a packed weight, or the KV pool of the layer. All are 64-byte aligned.
// `scratch` is the thread's own memory, 64-byte aligned, Kernel.scratch_bytes long.
//
// Kernels write nothing but their outputs and scratch, call nothing, and hold
// no state.
//
// KV pool of one layer slot: `pages` pages of `pageTokens` positions, one after
// the other; a page holds, for element type E,
//     E k[kvHeads][headDim][pageTokens]     K transposed: one load takes 16 positions
//     E v[kvHeads][pageTokens][headDim]
// Token at absolute position p of sequence s lives in page
// blockTable[s * blockTableStride + p / pageTokens], slot p % pageTokens.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {

constexpr int64_t kPageTokens = 32;    ///< positions per KV page
constexpr int64_t kAttentionTile = 16; ///< most query tokens of one attention tile

/// Up to kAttentionTile consecutive tokens of one sequence.
struct AttentionTile {
  int32_t firstToken; ///< row of the batch
  int32_t tokens;
  int32_t sequence; ///< row of the block table
  int32_t firstPosition; ///< absolute position of firstToken
};

/// What one step works on: a ragged batch. Kernels read it at these offsets.
struct BatchView {
  int64_t tokens;           // 0   T: rows of activations
  int64_t sequences;        // 8
  int64_t rows;             // 16  R: rows of logits
  int64_t tiles;            // 24
  const int32_t *ids;       // 32  [T] token ids
  const int32_t *positions; // 40  [T] absolute position in the sequence
  const int32_t *sequenceOf; // 48 [T] row of the block table
  const int32_t *rowTokens; // 56  [R] token of each logits row
  const AttentionTile *attentionTiles; // 64 [tiles]
  const int32_t *blockTable;           // 72 [sequences][blockTableStride] page numbers
  int64_t blockTableStride;            // 80
};
static_assert(offsetof(BatchView, ids) == 32 && offsetof(BatchView, rowTokens) == 56 &&
              offsetof(BatchView, blockTableStride) == 80 && sizeof(AttentionTile) == 16);

using KernelFn = void (*)(void *const *args, const BatchView *batch, int64_t begin, int64_t end,
                          int64_t step, char *scratch);

} // namespace ingot::cpu
