//===- Weights.h - Weights, by reference ----------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
}

#define GET_OP_CLASSES
#include "dialects/lm/ops/Weights.h.inc"
