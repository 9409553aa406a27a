//===- MatmulPrologue.h - Rows that a projection's blocks compute -----------===//
#pragma once

#include "codegen/cuda/KernelText.h"
#include "codegen/cuda/MatmulShape.h"

namespace ingot::kernel {
class RowwiseOp;
}

namespace ingot::cuda {

/// What a projection calls whose x is a flow: `compute_x(shared, first, rows{arguments},
/// batch)`, and the shared memory from which on it lies.
struct MatmulPrologue {
  int64_t tokens = 0;    ///< of a block; 0: there is none
  std::string arguments; ///< ", in0, in1"
  int64_t sharedBytes = 0;
};

/// Prints it; the operands of `rows` get their names. `shape` is of the projection that takes its flow.
mlir::FailureOr<MatmulPrologue> emitPrologue(KernelText &k, kernel::RowwiseOp rows,
                                             const MatmulShape &shape);

} // namespace ingot::cuda
