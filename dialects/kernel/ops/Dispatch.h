//===- Dispatch.h - Kernels on values -------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Dispatch.h.inc"
