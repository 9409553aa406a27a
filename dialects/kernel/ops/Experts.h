//===- Experts.h - Routing of tokens to experts -----------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Experts.h.inc"
