//===- EngineCost.h - What an engine foretells of its steps ----------------===//
//
// The compiler leaves what its cost model says of each kernel in the engine (fb::KernelCost).
// Summed over the launches of a step, for some numbers of tokens, that is a StepCostTable. Memory
// and the kernels without a model count at nominal rates: the shape is what matters, measured steps
// correct the rest.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/StepCost.h"
#include "runtime/schema/engine_generated.h"

#include <string_view>

namespace ingot::runtime {

/// For the code of `target`, on so many threads, up to `mostTokens` a step. No points where the
/// engine has no costs for it (GPUs, engines made before there were any).
StepCostTable engineCost(const fb::Engine &program, std::string_view target, int threads,
                         int64_t mostTokens);

} // namespace ingot::runtime
