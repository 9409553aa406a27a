//===- Regions.h - Regions of kernels, a row at a time ----------------------===//
#pragma once

#include "compiler/reference/Matrix.h"
#include "runtime/error/Error.h"

#include "mlir/IR/Region.h"

#include <vector>

namespace ingot::reference::machine {

/// What the region yields for a row: `arguments` are the elements of its operands, all of `n` values. f32, one rounding
/// per op; exp, tanh and erf through f64. An op that it does not know is E0889, which names it.
Result<std::vector<std::vector<float>>>
evaluate(mlir::Region &region, std::vector<std::vector<float>> arguments, int64_t n);

/// The error of an op that the slow machine does not know: "not interpreted: kernel.scan".
Error notInterpreted(mlir::Operation *op);
constexpr const char *kNotInterpreted = "E0889";

} // namespace ingot::reference::machine
