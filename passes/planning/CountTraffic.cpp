//===- CountTraffic.cpp - Launches and bytes of a step --------------------===//
//
//   bytes of a step = weights + perToken * tokens + perRow * logits rows
//
// A launch touches each operand once: what it reads of one again lies in a cache by then.
// Fusion exists to make these numbers smaller; tests/passes/fusion/traffic.mlir holds
// every fusion to it.
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/planning/KernelEffects.h"
#include "runtime/device/cpu/KernelAbi.h"

namespace ingot {
#define GEN_PASS_DEF_COUNTTRAFFICPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct Traffic {
  int64_t step = 0, token = 0, row = 0, launches = 0;

  Traffic &operator+=(const Traffic &other) {
    step += other.step, token += other.token, row += other.row, launches += other.launches;
    return *this;
  }
};

/// What one launch moves.
Traffic trafficOf(kernel::FuncOp fn) {
  Traffic moved;
  int64_t &perItem = kernel::isPerRow(fn) ? moved.row : moved.token;
  bool gathers = isa<kernel::GatherOp>(fn.structuredOp());
  for (auto [type, effect] : llvm::zip(fn.getArgumentTypes(), operandEffects(fn))) {
    if (auto rows = dyn_cast<kernel::RowsType>(type))
      perItem += (effect.reads + effect.writes) * rows.rowBytes();
    else if (auto pool = dyn_cast<kernel::KvPoolType>(type))
      perItem += effect.writes * pool.pageBytes() / cpu::kPageTokens;
    else if (auto weight = cast<lm::WeightType>(type); gathers)
      perItem +=
          kernel::packedBytes(weight) / roundUp(weight.rows(), kPanelRows); // the row of its token
    else
      moved.step += kernel::packedBytes(weight);
  }
  return moved;
}

struct CountTraffic : ingot::impl::CountTrafficPassBase<CountTraffic> {
  void runOnOperation() override {
    plan::ProgramOp program = getOperation();
    auto module = program->getParentOfType<ModuleOp>();
    llvm::DenseMap<Attribute, Traffic> sections; // most are those of many layers
    for (plan::SectionOp section : program.getBody().getOps<plan::SectionOp>()) {
      Traffic &sum = sections[section.getSymNameAttr()];
      for (plan::LaunchOp launch : section.getBody().getOps<plan::LaunchOp>()) {
        sum += trafficOf(module.lookupSymbol<kernel::FuncOp>(launch.getKernel()));
        ++sum.launches;
      }
    }
    Traffic total;
    for (plan::StepOp step : program.getBody().getOps<plan::StepOp>())
      total += sections.lookup(step.getSectionAttr().getAttr());
    Builder b(&getContext());
    program.setLaunchesAttr(b.getI64IntegerAttr(total.launches));
    program.setBytesPerStepAttr(b.getDenseI64ArrayAttr({total.step, total.token, total.row}));
  }
};
} // namespace
