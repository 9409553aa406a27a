//===- MatmulPrologue.h - Rows that a projection computes itself ------------===//
#pragma once

#include "codegen/cuda/KernelText.h"
#include "codegen/cuda/MatmulShape.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::cuda {

/// What a projection without x calls: `compute_x(shared, first, rows{arguments},
/// batch)`, and the shared memory from which on it lies.
struct MatmulPrologue {
  int64_t tokens = 0;    ///< of a block; 0: there is none
  std::string arguments; ///< ", in0, in1"
  int64_t sharedBytes = 0;
};

/// Prints it, if the op has a prologue; its operands get their names.
mlir::FailureOr<MatmulPrologue> emitPrologue(KernelText &k, kernel::MatmulOp op,
                                             const MatmulShape &shape);

} // namespace ingot::cuda
