//===- Ids.h - Ids of logits rows, on GPUs --------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Ids.h.inc"
