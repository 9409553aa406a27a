//===- MatmulSchedule.cpp - See MatmulSchedule.h --------------------------===//
#include "codegen/cpu/schedule/MatmulSchedule.h"
#include "codegen/cpu/schedule/MatmulCost.h"
#include "dialects/kernel/ops/Matmul.h"

#include <algorithm>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

int ingot::codegen::cpu::tileVectors(const Isa &isa, int64_t tokens) {
  if (isa.coversPanel)
    return kPanelRows / isa.lanes;
  // Four accumulators and their four partial sums fill most of sixteen registers.
  return tokens >= 3 ? 1 : tokens == 2 ? 2 : 4;
}

kernel::ScheduleAttr ingot::codegen::cpu::matmulSchedule(kernel::MatmulOp op, const Isa &isa) {
  if (kernel::ScheduleAttr given = op.getScheduleAttr()) {
    SmallVector<int64_t> tiles(given.getTokenTiles());
    if (tiles.empty() || tiles.back() != 1)
      tiles.push_back(1);
    return kernel::ScheduleAttr::get(
        op.getContext(), tiles, std::max<int64_t>(given.getTokenBlock(), 1), given.getPrefetch());
  }
  kernel::ScheduleAttr best;
  double least = 0;
  for (kernel::ScheduleAttr candidate : scheduleCandidates(op, isa)) {
    double slowness = matmulSlowness(op, candidate, isa, *isa.machine);
    if (!best || slowness < least)
      best = candidate, least = slowness;
  }
  return best;
}
