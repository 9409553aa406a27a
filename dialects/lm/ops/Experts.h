//===- Experts.h - Tokens go to some of many experts -----------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Experts.h.inc"
