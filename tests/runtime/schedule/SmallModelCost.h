//===- SmallModelCost.h - Step costs that simulations use -------------------===//
#pragma once

#include "runtime/schedule/simulate/Simulator.h"

namespace ingot::test {

/// A step takes 20 ms plus 1 ms per token and 1 us per pair of positions, about like a small model on two cores.
inline runtime::StepCostTable smallModelCost() { return {{{1, 0.021}, {1001, 1.021}}, 1e-4, 1e-6}; }

} // namespace ingot::test
