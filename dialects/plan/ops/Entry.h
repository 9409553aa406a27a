//===- Entry.h - Entry points of a program --------------------------------===//
#pragma once

#include "dialects/plan/PlanDialect.h"

namespace ingot::plan {
class ProgramOp;
}

#define GET_OP_CLASSES
#include "dialects/plan/ops/Entry.h.inc"
