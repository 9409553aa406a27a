//===- StepTime.h - Predicted time of launches --------------------------------===//
#pragma once

#include "tools/ingot/measure/roofline/KernelWork.h"
#include "tools/ingot/measure/roofline/MachineLimits.h"

#include <string_view>

namespace ingot::cli {

/// Returns the limits of the machine that runs code for `target`. For an ISA level of a CPU they are measured now,
/// on this machine; for a GPU they come from its data sheet. readGbPerS is 0 if they are not known.
MachineLimits limitsFor(std::string_view target, int threads);

/// Returns the time that the cost model predicts for launches of one kernel, in microseconds; 0 if it cannot
/// predict. `cost` may be null.
double predictUs(const KernelWork &work, const fb::KernelCost *cost, const MachineLimits &limits,
                 double threads);

} // namespace ingot::cli
