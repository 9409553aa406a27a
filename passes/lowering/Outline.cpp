//===- Outline.cpp - The kernels of a program -------------------------------===//
//
// Each plan.dispatch becomes a launch of a kernel.func. Dispatches whose kernels are the same share a kernel.func.
//===----------------------------------------------------------------------===//
#include "passes/lowering/Outline.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"
#include "passes/lowering/Origin.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace ingot {
#define GEN_PASS_DEF_OUTLINEPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

kernel::FuncOp ingot::outline(ImplicitLocOpBuilder &b, Region &region,
                              SmallVectorImpl<unsigned> &order) {
  Block &from = region.front();
  llvm::SetVector<BlockArgument> used;
  for (Operation &op : from)
    for (Value operand : op.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        used.insert(argument);
  assert(used.size() == from.getNumArguments() && "a kernel uses all of its operands");
  SmallVector<Type> types;
  for (BlockArgument argument : used) {
    types.push_back(argument.getType());
    order.push_back(argument.getArgNumber());
  }
  auto fn = kernel::FuncOp::create(b, "k", b.getFunctionType(types, {}));
  Block &body = fn.getBody().emplaceBlock();
  SmallVector<Location> locations(types.size(), b.getLoc());
  body.addArguments(types, locations);
  for (auto [old, argument] : llvm::zip(llvm::to_vector(used), body.getArguments()))
    old.replaceAllUsesWith(argument);
  body.getOperations().splice(body.end(), from.getOperations());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&body);
  kernel::ReturnOp::create(b);
  return fn;
}

namespace {

struct Outline : ingot::impl::OutlinePassBase<Outline> {
  void runOnOperation() override {
    llvm::StringMap<std::string> kernelsByText;
    llvm::StringMap<int> counters;
    getOperation().walk([&](plan::DispatchOp dispatch) {
      auto program = dispatch->getParentOfType<plan::ProgramOp>();
      ImplicitLocOpBuilder b(program.getLoc(), program);
      SmallVector<unsigned> order;
      kernel::FuncOp fn = outline(b, dispatch.getBody(), order);
      std::string text;
      llvm::raw_string_ostream(text) << fn;
      std::string &name = kernelsByText[text];
      if (name.empty()) {
        int n = counters[dispatch.getName()]++;
        name = (dispatch.getName() + "_" + Twine(n)).str();
        fn.setSymName(name);
      } else {
        fn.erase();
      }
      auto passed = llvm::map_to_vector(
          order, [&](unsigned argument) { return dispatch.getArgs()[argument]; });
      b.setInsertionPoint(dispatch);
      auto launch = plan::LaunchOp::create(b, name, b.getArrayAttr(passed), /*no_barrier=*/false);
      launch->setLoc(dispatch.getLoc());
      dispatch.erase();
    });
  }
};
} // namespace
