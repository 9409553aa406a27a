//===- ScalarOps.h - lm ops as scalar arithmetic --------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ingot {

/// Renders an elementwise lm op, or a norm of whole rows, as f32 scalar ops in a kernel region.
/// `scalars` maps lm values (and the weights of norms) to the scalars of one element.
void lowerToScalar(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op, mlir::IRMapping &scalars);

} // namespace ingot
