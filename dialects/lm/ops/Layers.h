//===- Layers.h - Kinds of layers, their states, and the entry ------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;

/// Argument attribute of a layer kind: the element format of a state ("int4").
constexpr llvm::StringLiteral kElementAttr = "lm.element";
} // namespace ingot::lm

#define GET_OP_CLASSES
#include "dialects/lm/ops/Layers.h.inc"
