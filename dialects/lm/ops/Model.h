//===- Model.h - What holds all of a model --------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Model.h.inc"
