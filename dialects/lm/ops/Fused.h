//===- Fused.h - Ops that one launch will compute -------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Fused.h.inc"
