//===- Model.h - The op that holds a whole model --------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Model.h.inc"
