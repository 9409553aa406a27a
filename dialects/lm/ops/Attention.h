//===- Attention.h - Rotations, the KV cache, attention -------------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Attention.h.inc"
