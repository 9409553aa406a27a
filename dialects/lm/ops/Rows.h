//===- Rows.h - Selection of rows: of the embedding, of a step ------------===//
#pragma once

#include "dialects/lm/LmDialect.h"

#define GET_OP_CLASSES
#include "dialects/lm/ops/Rows.h.inc"
