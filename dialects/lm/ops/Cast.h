//===- Cast.h - Rows in the encoding that projections read ----------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Cast.h.inc"
