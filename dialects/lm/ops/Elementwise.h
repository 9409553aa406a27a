//===- Elementwise.h - Value by value -------------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Elementwise.h.inc"
