//===- Matmul.h - Projections ---------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Matmul.h.inc"
