//===- Experts.h - Which experts tokens go to -------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Experts.h.inc"
