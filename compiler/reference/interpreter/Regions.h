//===- Regions.h - Regions of kernels, a row at a time ----------------------===//
#pragma once

#include "compiler/reference/Matrix.h"
#include "runtime/error/Error.h"

#include "mlir/IR/Region.h"

#include <vector>

namespace ingot::reference::interpreter {

/// The values that the region yields for a row: `arguments` are the elements of its operands, `n` values
/// each. f32, one rounding per op; exp, tanh and erf through f64. An unknown op is E0889, which names the op.
Result<std::vector<std::vector<float>>>
evaluate(mlir::Region &region, std::vector<std::vector<float>> arguments, int64_t n);

/// The error for an op that the plan interpreter does not know: "not interpreted: kernel.scan".
Error notInterpreted(mlir::Operation *op);

} // namespace ingot::reference::interpreter
