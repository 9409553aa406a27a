//===- CausalConv.h - Convolutions over the rows of a sequence ------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/CausalConv.h.inc"
