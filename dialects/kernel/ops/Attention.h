//===- Attention.h - Attention over the KV cache --------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Attention.h.inc"
