//===- ChooseLayouts.cpp - Sets the layouts of matrices in their types -----===//
//
// The consumers of a weight are the kernels to which the plan passes it, by name or as the n-th weight of a
// step's layer. All consumers are found first, since a layout has to suit each: a tied embedding is gathered
// and multiplied. Layers share kernels; if two of them wanted different layouts, the plan's verifier would
// report it (step_c6, launch_c5).
//===----------------------------------------------------------------------===//
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Target.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace ingot {
#define GEN_PASS_DEF_CHOOSELAYOUTSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct ChooseLayouts : ingot::impl::ChooseLayoutsPassBase<ChooseLayouts> {
  using ChooseLayoutsPassBase::ChooseLayoutsPassBase;

  void runOnOperation() override {
    const Target &target = targetOf(device);
    for (auto program : getOperation().getOps<plan::ProgramOp>()) {
      findConsumers(program);
      for (auto weight : program.getBody().getOps<plan::WeightOp>())
        if (!weight.getType().isVector())
          choose(weight, target);
    }
  }

private:
  /// For each weight, the kernel arguments that receive it.
  llvm::DenseMap<Attribute, llvm::SmallSetVector<BlockArgument, 4>> consumers;

  void findConsumers(plan::ProgramOp program) {
    llvm::DenseMap<Attribute, SmallVector<std::pair<int64_t, BlockArgument>>>
        ofLayers; // by section
    program.walk([&](plan::LaunchOp launch) {
      auto fn = getOperation().lookupSymbol<FunctionOpInterface>(launch.getKernel());
      for (auto [argument, operand] : llvm::zip(fn.getArguments(), launch.getArgs())) {
        if (auto named = dyn_cast<plan::WeightRefAttr>(operand))
          consumers[named.getSymbol().getAttr()].insert(argument);
        if (auto layer = dyn_cast<plan::LayerWeightRefAttr>(operand))
          ofLayers[launch->getParentOfType<plan::SectionOp>().getSymNameAttr()].emplace_back(
              layer.getIndex(), argument);
      }
    });
    program.walk([&](plan::StepOp step) {
      for (auto [index, argument] : ofLayers.lookup(step.getSectionAttr().getAttr()))
        consumers[cast<FlatSymbolRefAttr>((*step.getWeights())[index]).getAttr()].insert(argument);
    });
  }

  void choose(plan::WeightOp weight, const Target &target) {
    ArrayRef<BlockArgument> arguments = consumers[weight.getSymNameAttr()].getArrayRef();
    SmallVector<Operation *> ops;
    for (BlockArgument argument : arguments)
      llvm::append_range(ops, argument.getUsers());
    lm::WeightType type = weight.getType().in(target.weightLayout(weight.getType(), ops));
    weight.setType(type);
    for (BlockArgument argument : arguments) {
      auto fn = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
      argument.setType(type);
      fn.setType(FunctionType::get(&getContext(), argument.getOwner()->getArgumentTypes(), {}));
    }
  }
};
} // namespace
