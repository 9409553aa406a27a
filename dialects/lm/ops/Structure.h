//===- Structure.h - Models, their weights, states and functions ----------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Structure.h.inc"
