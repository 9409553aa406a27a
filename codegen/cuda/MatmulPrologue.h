//===- MatmulPrologue.h - Rows that a projection's blocks compute -----------===//
#pragma once

#include "codegen/cuda/KernelText.h"
#include "codegen/cuda/MatmulShape.h"

namespace ingot::kernel {
class RowwiseOp;
}

namespace ingot::codegen::cuda {

/// The call that a projection makes if its x is a fused value, `compute_x(shared, first,
/// rows{arguments}, batch)`, and the shared memory that the call needs.
struct MatmulPrologue {
  int64_t tokens = 0;    ///< tokens per block; 0: there is no prologue
  std::string arguments; ///< ", in0, in1"
  int64_t sharedBytes = 0;
};

/// Prints the prologue and names the operands of `rows`. `shape` is the shape of the projection that consumes the fused
/// value.
mlir::FailureOr<MatmulPrologue> emitPrologue(KernelText &k, kernel::RowwiseOp rows,
                                             const MatmulShape &shape);

} // namespace ingot::codegen::cuda
