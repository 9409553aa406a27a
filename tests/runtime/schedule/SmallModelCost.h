//===- SmallModelCost.h - What steps cost where tests simulate --------------===//
#pragma once

#include "runtime/schedule/simulate/Simulator.h"

namespace ingot::test {

/// 20 ms and 1 ms a token, 1 us a pair of positions: about a small model on two cores.
inline runtime::StepCostTable smallModelCost() { return {{{1, 0.021}, {1001, 1.021}}, 1e-4, 1e-6}; }

} // namespace ingot::test
