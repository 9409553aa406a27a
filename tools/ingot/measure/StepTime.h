//===- StepTime.h - What the cost model says that launches take ---------------===//
#pragma once

#include "tools/ingot/measure/KernelWork.h"
#include "tools/ingot/measure/MachineLimits.h"

#include <string_view>

namespace ingot::cli {

/// Limits of the machine that code for `target` runs on: of a CPU level measured now on this one, of a GPU those of its
/// data sheet. readGbPerS is 0 where they are not known.
MachineLimits limitsFor(std::string_view target, int threads);

/// Of some launches of one kernel, in microseconds; 0: it cannot say. `cost` may be null.
double foretoldUs(const KernelWork &work, const fb::KernelCost *cost, const MachineLimits &limits,
                  double threads);

} // namespace ingot::cli
