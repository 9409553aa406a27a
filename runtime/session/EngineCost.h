//===- EngineCost.h - What an engine foretells of its steps ----------------===//
//
// The compiler leaves what its cost model says of each kernel in the engine (fb::KernelCost).
// Summed over the launches of a step, for some numbers of tokens, that is a StepCostTable. Of a
// CPU, memory and the kernels without a model count at nominal rates; of a GPU all counts by the
// one line of engine/GpuMachine.h, launches that its variants leave out in steps of so many tokens
// aside. The shape is what matters, measured steps correct the rest.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/StepCost.h"
#include "runtime/schema/engine_generated.h"

#include <string_view>

namespace ingot::runtime {

/// What the cost model says of one launch with so many units (tokens or rows): straight lines
/// between what it was asked for, in proportion beyond. Nothing where it was not asked.
struct Foretold {
  double coreSeconds = 0; ///< on one core; of a GPU, on all of it
  double bytes = 0;       ///< from memory
};
Foretold foretold(const fb::KernelCost &cost, double units);

/// For the code of `target`, on so many threads (of a GPU: no matter), up to `mostTokens` a step.
/// No points where the program has no costs for it (engines made before there were any).
StepCostTable engineCost(const fb::Program &program, std::string_view target, int threads,
                         int64_t mostTokens);

} // namespace ingot::runtime
