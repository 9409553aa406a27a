//===- MatmulShape.h - How a projection is cut on GPUs -----------------------===//
//
// A function of the problem alone, never of the batch: `parts` decides the order of sums.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::cuda {

struct MatmulShape {
  explicit MatmulShape(kernel::MatmulOp op);
  int64_t weights; ///< per output: 1, or 2 of a pair
  int64_t k;
  int64_t parts;            ///< of K: warps of a decode block
  int64_t mostDecodeTokens; ///< of a decode variant
  int64_t prefillEights;    ///< tokens of a warp in prefill, / 8
};

} // namespace ingot::cuda
