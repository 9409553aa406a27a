//===- CausalConv.h - Convolutions over the rows of a sequence ------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/CausalConv.h.inc"
