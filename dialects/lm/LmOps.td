//===- LmOps.td - The lm dialect: what the model is -----------------------===//
//
// This file includes all families of ops, for the dialect's documentation and for patterns (docs/extending.md). C++
// sources include only the families that they use (ops/*.h).
//
// SPEC.md numbers the constraints of each op; verifiers cite them. Ops have
// value semantics. The leading dimension of every tensor is the ragged token
// count T of a step (or the count R of logits rows after select_rows).
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_LMOPS_TD
#define INGOT_DIALECTS_LM_LMOPS_TD

include "dialects/lm/ops/Model.td"
include "dialects/lm/ops/Weights.td"
include "dialects/lm/ops/Layers.td"
include "dialects/lm/ops/Rows.td"
include "dialects/lm/ops/Cast.td"
include "dialects/lm/ops/Norm.td"
include "dialects/lm/ops/Linear.td"
include "dialects/lm/ops/Attention.td"
include "dialects/lm/ops/CausalConv.td"
include "dialects/lm/ops/Experts.td"
include "dialects/lm/ops/Elementwise.td"
include "dialects/lm/ops/Fused.td"

#endif
