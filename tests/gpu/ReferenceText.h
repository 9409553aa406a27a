//===- ReferenceText.h - A naive kernel for each kernel of an engine --------===//
//
// A naive kernel has one thread per result, sums in f64, and reads weights one by one through `F::value`. So it shares
// nothing with the tiled kernels' order, fragment layout, rings or parts. It shares only the operands of a sum and the
// epilogue's text that is applied to it.
//
//   NAME_reference_x     (operands…, u16 *x, batch)                       a projection's rows of x,
//                                                                         by its prologue
//   NAME_reference_S     (operands…, float *value, float *allowed, float limit, batch)   output S
//   NAME_reference_fp8_S  the same, of the rows of E4M3
//   NAME_reference       (operands…, float *value, float *allowed, float limit, batch)   attention
//
// `allowed` is the allowed error of a result: its change if a sum is off by `limit` times Σ |w x| (for attention, Σ p
// |v|). Values are before rotation and rounding.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"
#include "tests/gpu/reference_generated.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::codegen::cuda {

/// Returns the program and a description of its operands (everything but the module); null for
/// kernels without a reference.
mlir::FailureOr<std::unique_ptr<reference::KernelT>> referenceOf(kernel::FuncOp kernel,
                                                                 CudaProgram &program);

} // namespace ingot::codegen::cuda
