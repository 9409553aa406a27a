//===- EngineCost.h - Predicts the cost of an engine's steps ---------------===//
//
// The compiler stores its cost model's predictions for each kernel in the engine (fb::KernelCost). These are summed
// over the launches of a step, for several step sizes. The sums form a StepCostTable. On a CPU, memory traffic and
// kernels without predictions count at nominal rates. On a GPU, the formula of engine/GpuMachine.h is used. Kernels
// without a variant are not launched, so they count nothing. Only the shape of the table matters; measured steps
// correct the rest.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/StepCost.h"
#include "runtime/schema/engine_generated.h"

#include <string_view>

namespace ingot::runtime {

/// The cost model's prediction for one launch with a given number of units (tokens or rows). It is
/// interpolated linearly between the predicted points and proportional beyond them. It is zero if
/// there are no points.
struct PredictedLaunch {
  double coreSeconds = 0; ///< time on one core or, for a GPU, on the whole GPU
  double bytes = 0;       ///< bytes read from memory
};
PredictedLaunch predict(const fb::KernelCost &cost, double units);

/// Returns the costs for the code of `target`, on `threads` threads (ignored for a GPU), up to
/// `mostTokens` tokens per step. The table has no points if the engine was made before costs were
/// stored.
StepCostTable engineCost(const fb::Program &program, std::string_view target, int threads,
                         int64_t mostTokens);

} // namespace ingot::runtime
