//===- Rope.h - Rotations, and the append to the KV cache -----------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Rope.h.inc"
