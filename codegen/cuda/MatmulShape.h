//===- MatmulShape.h - How a projection is cut on GPUs -----------------------===//
//
// A function of the problem alone, never of the batch: `parts` decides the order of sums.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/ops/Flow.h"
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Rope.h"
#include "dialects/kernel/ops/Rows.h"

namespace ingot::cuda {

struct MatmulShape {
  explicit MatmulShape(kernel::MatmulOp op);
  int64_t weights; ///< per output: 1, or 2 of a pair
  int64_t k;
  bool f32;                 ///< rows of x: a router's, multiplied by device/matmul_f32.cuh
  int64_t parts;            ///< of K: warps of a decode block
  int64_t mostDecodeTokens; ///< of a decode variant
  int64_t prefillEights;    ///< tokens of a warp in prefill, / 8

  // Around it, each null where there is none; what else there is has no code.
  kernel::RowwiseOp producer;  ///< computes rows of x in each block
  kernel::ArgmaxOp argmax;     ///< of one segment, which is stored as well
  kernel::RopeAppendOp append; ///< of q, k and v; q is stored

  std::string refused; ///< as in kernel::KernelShape
  int64_t mostUnits;

  /// Where a segment is stored; null: nowhere.
  mlir::Value storedAt(kernel::MatmulOp op, int64_t segment) const;

private:
  std::string collect(kernel::MatmulOp op);
  int64_t mostProduced(kernel::MatmulOp op) const;
};

} // namespace ingot::cuda
