//===- PlanOps.td - The plan dialect: when and where ----------------------===//
//
// The runtime executes a program. It corresponds one to one to the engine's table
// (runtime/schema/engine.fbs): buffers with sizes as coefficients, sections as flat
// launch lists in cases, and entry points, which give the order of the sections and
// the buffers of the results. There are no SSA values: operands of launches are
// attributes that name buffers, weights and states.
//
// This file includes all families of ops, for the dialect's documentation. C++ sources include only the families
// that they use (ops/*.h).
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_PLAN_PLANOPS_TD
#define INGOT_DIALECTS_PLAN_PLANOPS_TD

include "dialects/plan/ops/Program.td"
include "dialects/plan/ops/Section.td"
include "dialects/plan/ops/Entry.td"

#endif
