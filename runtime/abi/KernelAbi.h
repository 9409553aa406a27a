//===- KernelAbi.h - Calling convention of generated CPU kernels ----------===//
//
// Every kernel of an engine is a C function
//
//   void kernel(void *const *args, const BatchView *batch,
//               int64_t begin, int64_t end, int64_t step, char *scratch, int64_t ahead);
//
// It computes its work items begin, begin+step, … < end. The kernel's grid defines
// the items (engine.fbs, `Grid`):
//   Constant   a fixed count (matmul: panels of 32 rows, over all segments)
//   Tokens     one per token of the batch, times a factor
//   Rows       one per logits row, times a factor
//   Tiles      one per attention tile, times a factor (KV heads)
//   Spans      one per span of BatchView::stateSpans, times a factor
// The number of items is  base * factor. Items of one launch may run in any order on any
// thread: no item reads data that another item of the same launch writes, and
// results do not depend on how items are distributed.
//
// The items of a matmul of experts are the panels of all experts. They map proportionally to the panels of the
// experts that have rows in a step: items [n/4, n/2) are the second quarter of those panels (abi/Routes.h).
//
// args[i] is the base address of the i-th operand of the kernel: a buffer of the
// arena, a packed weight, or the KV pool of the layer. All are 64-byte aligned.
// `scratch` is the thread's own memory, 64-byte aligned, Kernel.scratch_bytes long.
// `ahead` controls how a matmul of few tokens prefetches weights. If it is 0, the matmul prefetches one line per
// kilobyte; otherwise it prefetches each line, `ahead` bytes before reading it. It changes no result.
//
// Kernels write only their outputs and scratch, call no functions and hold no state.
//
// The KV pool of one layer slot is `pages` consecutive pages of `pageTokens`
// positions. For element type E, a page holds
//     E k[kvHeads][headDim][pageTokens]     K transposed: one load takes 16 positions
//     E v[kvHeads][pageTokens][headDim]
// For formats with scales see runtime/formats/KvInt8.h and KvInt4.h.
// The token at absolute position p of sequence s lives in page
// blockTable[s * blockTableStride + p / pageTokens], slot p % pageTokens.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"

namespace ingot {

using KernelFn = void (*)(void *const *args, const BatchView *batch, int64_t begin, int64_t end,
                          int64_t step, char *scratch, int64_t ahead);

} // namespace ingot
