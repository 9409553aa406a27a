//===- PlanOps.td - The plan dialect: when and where ----------------------===//
//
// A program is what the runtime executes, one to one with the engine's table
// (runtime/schema/engine.fbs): buffers with their sizes as coefficients, sections as
// flat launch lists in cases, and entries: the order in which sections run, and where
// results lie. No SSA values: operands of launches are attributes that name buffers,
// weights and states.
//
// All families of ops, for the dialect's page: C++ includes the families that it names (ops/*.h).
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_PLAN_PLANOPS_TD
#define INGOT_DIALECTS_PLAN_PLANOPS_TD

include "dialects/plan/ops/Program.td"
include "dialects/plan/ops/Section.td"
include "dialects/plan/ops/Entry.td"

#endif
