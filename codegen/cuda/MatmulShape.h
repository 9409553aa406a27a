//===- MatmulShape.h - How a projection is tiled on GPUs ---------------------===//
//
// A MatmulShape depends only on the problem. It must not depend on the batch, because `parts` decides
// the order of sums.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/ops/Fused.h"
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"

namespace ingot::codegen::cuda {

struct MatmulShape {
  explicit MatmulShape(kernel::MatmulOp op);
  int64_t weights; ///< per output: 1, or 2 for a gated pair
  int64_t k;
  bool f32;                 ///< x is f32 (a router), multiplied by device/matmul_f32.cuh
  int64_t parts;            ///< parts that K is split into; a decode block has one warp per part
  int64_t mostDecodeTokens; ///< tokens of the largest decode variant
  int64_t prefillEights;    ///< tokens per warp in prefill, / 8

  // The ops fused with the projection, null if absent. No other op can be fused with it.
  kernel::RowwiseOp producer;  ///< computes rows of x in each block
  kernel::ArgmaxOp argmax;     ///< consumes a single segment, which is stored as well
  kernel::RopeAppendOp append; ///< consumes q, k and v; q is stored

  std::string refused; ///< as in kernel::KernelShape
  int64_t mostUnits;

  /// Returns the buffer in which a segment is stored; null if it is not stored.
  mlir::Value storedAt(kernel::MatmulOp op, int64_t segment) const;

private:
  std::string collect(kernel::MatmulOp op);
  int64_t mostProduced(kernel::MatmulOp op) const;
};

} // namespace ingot::codegen::cuda
