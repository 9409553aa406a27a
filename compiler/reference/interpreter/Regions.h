//===- Regions.h - Regions of kernels, a row at a time ----------------------===//
#pragma once

#include "compiler/reference/Matrix.h"
#include "runtime/error/Error.h"

#include "mlir/IR/Region.h"

#include <vector>

namespace ingot::reference::interpreter {

/// Returns the values that the region yields for a row. `arguments` are the elements of its operands, `n` values each.
/// The arithmetic is f32 with one rounding per op; exp, tanh and erf are computed in f64. Errors: E0889: an unknown op,
/// which the error names.
Result<std::vector<std::vector<float>>>
evaluate(mlir::Region &region, std::vector<std::vector<float>> arguments, int64_t n);

/// Returns the error for an op that the plan interpreter does not know: "not interpreted: kernel.scan".
Error notInterpreted(mlir::Operation *op);

} // namespace ingot::reference::interpreter
