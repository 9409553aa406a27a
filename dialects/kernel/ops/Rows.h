//===- Rows.h - Rows of activations ---------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Rows.h.inc"
