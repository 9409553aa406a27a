//===- Layers.h - Kinds of layers, their states, and the entry ------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

namespace ingot::lm {
class ModelOp;
}

#define GET_OP_CLASSES
#include "dialects/lm/ops/Layers.h.inc"
