//===- Flow.h - What becomes of values that a kernel has at hand ----------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Flow.h.inc"
