//===- ReferenceText.h - A naive kernel beside each of an engine's ----------===//
//
// One thread a result, sums in f64, weights one by one through `F::value`: nothing of the tiled
// kernels' order, layout of fragments, rings or parts. What is the same is what is done with a sum
// (the epilogue's text) and what it is of.
//
//   NAME_reference_x     (operands…, u16 *x, batch)                       a projection's rows of x,
//                                                                         by its prologue
//   NAME_reference_S     (operands…, float *value, float *allowed, float limit, batch)   output S
//   NAME_reference_fp8_S  the same, of the rows of E4M3
//   NAME_reference       (operands…, float *value, float *allowed, float limit, batch)   attention
//
// `allowed` says how far a result may be off: how much it moves if a sum is off by `limit` of
// Σ |w x| (attention: limit x Σ p |v|). Before rotation and rounding.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaCodegen.h"
#include "tests/gpu/reference_generated.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::cuda {

/// The program, and what its operands are (all but the module); null for kernels that have no
/// reference.
mlir::FailureOr<std::unique_ptr<reference::KernelT>> referenceOf(kernel::FuncOp kernel,
                                                                 CudaProgram &program);

} // namespace ingot::cuda
