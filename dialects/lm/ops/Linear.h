//===- Linear.h - Projections ---------------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Linear.h.inc"
