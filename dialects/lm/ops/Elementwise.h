//===- Elementwise.h - Elementwise ops ------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Elementwise.h.inc"

namespace ingot::lm {

/// Returns whether each value of the op's result depends only on the values at the same position.
bool isElementwise(mlir::Operation *op);

} // namespace ingot::lm
