//===- Elementwise.h - Value by value -------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Elementwise.h.inc"

namespace ingot::lm {

/// Whether each value of its result comes from values at the same place.
bool isElementwise(mlir::Operation *op);

} // namespace ingot::lm
