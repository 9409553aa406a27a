//===- EngineCost.h - Predicts the cost of an engine's steps ---------------===//
//
// The compiler stores its cost model's predictions for each kernel in the engine (fb::KernelCost).
// Summed over the launches of a step, for several numbers of tokens, they form a StepCostTable. On
// a CPU, memory and the kernels without a model count at nominal rates; on a GPU, everything counts
// by the formula of engine/GpuMachine.h, except launches whose variants skip steps of that many
// tokens. Only the shape matters; measured steps correct the rest.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/StepCost.h"
#include "runtime/schema/engine_generated.h"

#include <string_view>

namespace ingot::runtime {

/// The cost model's prediction for one launch with a given number of units (tokens or rows): linear
/// interpolation between the predicted points, proportional beyond them. Zero if there are no
/// points.
struct PredictedLaunch {
  double coreSeconds = 0; ///< on one core; for a GPU, on the whole GPU
  double bytes = 0;       ///< read from memory
};
PredictedLaunch predict(const fb::KernelCost &cost, double units);

/// The costs for the code of `target`, on `threads` threads (ignored for a GPU), up to `mostTokens`
/// per step. There are no points if the program has no costs for it (engines made before costs were
/// stored).
StepCostTable engineCost(const fb::Program &program, std::string_view target, int threads,
                         int64_t mostTokens);

} // namespace ingot::runtime
