//===- Norm.h - Norms of rows and of heads --------------------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#include "dialects/lm/LmInterfaces.h"
#define GET_OP_CLASSES
#include "dialects/lm/ops/Norm.h.inc"
