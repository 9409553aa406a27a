//===- CountTraffic.cpp - Launches and bytes of a step --------------------===//
//
//   bytes of a step = weights + perToken * tokens + perRow * logits rows
//
// A launch touches each operand once (kernel.func's bytesPerUnit). Workspaces are not counted, because how
// much of one is used depends on the contexts. The counted step has many tokens and produces logits.
//
// Fusion exists to reduce these numbers; tests/passes/fusion/traffic.mlir checks that every fusion does.
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_COUNTTRAFFICPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct Traffic {
  int64_t step = 0, token = 0, row = 0, launches = 0, decodeLaunches = 0;

  Traffic &operator+=(const Traffic &other) {
    step += other.step, token += other.token, row += other.row, launches += other.launches;
    decodeLaunches += other.decodeLaunches;
    return *this;
  }
};

/// Whether the type is that of a matrix whose layout is not yet chosen, so its number of bytes is not known.
bool hasNoBytes(Type type) {
  auto weight = dyn_cast<lm::WeightType>(type);
  return weight && !weight.isVector() && weight.getLayout() == lm::WeightLayout::Open;
}

/// The bytes that one launch of the kernel moves.
Traffic trafficOf(kernel::FuncOp fn) {
  Traffic moved;
  kernel::LaunchInterface op = fn.launch();
  (op.isPerRow() ? moved.row : moved.token) = fn.bytesPerUnit();
  if (!op.gathersWeights())
    for (Type type : fn.getArgumentTypes())
      if (auto weight = dyn_cast<lm::WeightType>(type))
        moved.step += kernel::packedBytes(weight);
  return moved;
}

struct CountTraffic : ingot::impl::CountTrafficPassBase<CountTraffic> {
  void runOnOperation() override {
    plan::ProgramOp program = getOperation();
    auto module = program->getParentOfType<ModuleOp>();
    llvm::DenseMap<Attribute, Traffic> sections; // most sections are shared by many layers
    for (plan::SectionOp section : program.getBody().getOps<plan::SectionOp>()) {
      Traffic &sum = sections[section.getSymNameAttr()];
      for (plan::LaunchOp launch : section.launchesIn(plan::manyIn(plan::Mode::Logits))) {
        auto fn = module.lookupSymbol<kernel::FuncOp>(launch.getKernel());
        if (llvm::any_of(fn.getArgumentTypes(), hasNoBytes)) {
          launch.emitOpError("reads a matrix without a layout: run kernel-choose-layouts first");
          return signalPassFailure();
        }
        sum += trafficOf(fn);
        ++sum.launches;
      }
      sum.decodeLaunches = int64_t(section.launchesIn({plan::Mode::Logits, 1, 1}).size());
    }
    plan::EntryOp entry = program.generateEntry();
    if (!entry)
      return;
    Traffic total;
    for (plan::StepOp step : entry.getBody().getOps<plan::StepOp>())
      total += sections.lookup(step.getSectionAttr().getAttr());
    Builder b(&getContext());
    program.setLaunchesAttr(b.getI64IntegerAttr(total.launches));
    if (total.decodeLaunches != total.launches)
      program.setDecodeLaunchesAttr(b.getI64IntegerAttr(total.decodeLaunches));
    program.setBytesPerStepAttr(b.getDenseI64ArrayAttr({total.step, total.token, total.row}));
  }
};
} // namespace
