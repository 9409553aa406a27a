//===- KernelAbi.h - How the CPU device calls a generated kernel ----------===//
//
// Every kernel of an engine is a C function
//
//   void kernel(void *const *args, const BatchView *batch,
//               int64_t begin, int64_t end, int64_t step, char *scratch, int64_t ahead);
//
// It computes its work items begin, begin+step, … < end. What an item is, the
// kernel's grid says (engine.fbs, `Grid`):
//   Constant   a fixed count (matmul: panels of 32 rows, over all segments)
//   Tokens     one per token of the batch, times a factor
//   Rows       one per logits row, times a factor
//   Tiles      one per attention tile, times a factor (KV heads)
// A matmul of experts has the panels of all of them as items, of which those that have rows in a step take the
// same part: items [n/4, n/2) stand for the second quarter of their panels (abi/Routes.h).
// The count is  base * factor. Items of one launch may run in any order on any
// thread: no item reads what another of the same launch writes, and results do
// not depend on how items are shared out.
//
// args[i] is the base address of the i-th operand of the kernel: a buffer of the
// arena, a packed weight, or the KV pool of the layer. All are 64-byte aligned.
// `scratch` is the thread's own memory, 64-byte aligned, Kernel.scratch_bytes long.
// `ahead` says how a matmul of few tokens asks for weights before it needs them: each line, so many bytes ahead, or
// one line in a kilobyte (0). It changes no result.
//
// Kernels write nothing but their outputs and scratch, call nothing, and hold
// no state.
//
// KV pool of one layer slot: `pages` pages of `pageTokens` positions, one after
// the other; a page holds, for element type E,
//     E k[kvHeads][headDim][pageTokens]     K transposed: one load takes 16 positions
//     E v[kvHeads][pageTokens][headDim]
// and for formats with scales what runtime/formats/KvInt8.h and its neighbours say.
// Token at absolute position p of sequence s lives in page
// blockTable[s * blockTableStride + p / pageTokens], slot p % pageTokens.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"

namespace ingot::cpu {

using ingot::AttentionTile;
using ingot::BatchView;
using ingot::kAttentionTile;
using ingot::kPageTokens;

using KernelFn = void (*)(void *const *args, const BatchView *batch, int64_t begin, int64_t end,
                          int64_t step, char *scratch, int64_t ahead);

} // namespace ingot::cpu
