//===- LmOps.h - All ops of lm --------------------------------------------===//
// Only code that handles all ops includes this header; other code includes the op families that it uses.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Cast.h"
#include "dialects/lm/ops/CausalConv.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Linear.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Norm.h"
#include "dialects/lm/ops/Rows.h"
#include "dialects/lm/ops/Weights.h"
