//===- Experts.h - Routing of tokens to experts ----------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Experts.h.inc"
