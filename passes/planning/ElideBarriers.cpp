//===- ElideBarriers.cpp - Barriers only where data crosses threads -------===//
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"

#include "llvm/ADT/DenseSet.h"

namespace ingot {
#define GEN_PASS_DEF_ELIDEBARRIERSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {
struct ElideBarriers : ingot::impl::ElideBarriersPassBase<ElideBarriers> {
  void runOnOperation() override {
    if (auto nested = getOperation().walk([](plan::WhenOp when) {
          when.emitOpError("expects plan-expand-cases to have run");
          return WalkResult::interrupt();
        });
        nested.wasInterrupted())
      return signalPassFailure();
    for (plan::SectionOp section : getOperation().getBody().getOps<plan::SectionOp>())
      for (const plan::Case &one : section.cases())
        elide(one);
  }

  static void elide(const plan::Case &one) {
    // Operands that launches since the last barrier read or wrote; a case ends with a barrier.
    llvm::DenseSet<Attribute> read, written;
    plan::LaunchOp before;
    for (plan::LaunchOp launch : one.launches()) {
      auto effects = launch.operandEffects();
      bool conflict = false;
      for (auto [effect, operand] : llvm::zip(effects, launch.getArgs()))
        conflict |= (effect.reads && written.contains(operand)) ||
                    (effect.writes && (written.contains(operand) || read.contains(operand)));
      if (before && !conflict)
        before.setNoBarrier(true);
      else
        read.clear(), written.clear();
      for (auto [effect, operand] : llvm::zip(effects, launch.getArgs())) {
        if (effect.reads)
          read.insert(operand);
        if (effect.writes)
          written.insert(operand);
      }
      before = launch;
    }
  }
};
} // namespace
