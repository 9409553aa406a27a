//===- Weights.h - Weights, by reference ----------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
}

namespace ingot::lm {
/// Attribute of a weight that is made of rows of others: of each its symbol, the first row, how many, and how many that
/// weight has. Numbers made from a seed are theirs.
constexpr llvm::StringLiteral kRowsOfAttr = "lm.rows_of";
} // namespace ingot::lm

#define GET_OP_CLASSES
#include "dialects/lm/ops/Weights.h.inc"
