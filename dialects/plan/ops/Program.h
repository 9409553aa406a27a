//===- Program.h - Parts of a program: weights, buffers, states -----------===//
#pragma once

#include "dialects/plan/PlanDialect.h"

namespace ingot::plan {
class EntryOp;
}

#define GET_OP_CLASSES
#include "dialects/plan/ops/Program.h.inc"
