//===- Fused.h - Consumers of fused values --------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Fused.h.inc"
