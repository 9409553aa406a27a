//===- KernelEdits.cpp - See KernelEdits.h --------------------------------===//
#include "passes/lowering/KernelEdits.h"
#include "dialects/kernel/ops/Structure.h"
#include "passes/Target.h"

#include <functional>

using namespace mlir;
using namespace ingot;

SmallVector<plan::LaunchOp> ingot::launchesBehind(Operation *op) {
  SmallVector<plan::LaunchOp> launches;
  while ((op = op->getNextNode()))
    op->walk([&](plan::LaunchOp launch) { launches.push_back(launch); });
  return launches;
}

bool KernelEdits::areReadAcrossSections(Attribute rows) {
  // `written`: whether a preceding launch wrote the rows; lists of one plan.when do not affect each other.
  std::function<bool(Block &, bool &)> readsFirst = [&](Block &block, bool &written) {
    for (Operation &op : block) {
      bool after = !op.getRegions().empty();
      for (Region &region : op.getRegions()) {
        bool inner = written && !isa<plan::CaseOp>(op);
        if (!region.empty() && readsFirst(region.front(), inner))
          return true;
        after &= inner;
      }
      written |= after;
      auto launch = dyn_cast<plan::LaunchOp>(op);
      if (!launch)
        continue;
      for (auto [effect, passed] : llvm::zip(launch.operandEffects(), launch.getArgs()))
        if (passed == rows && effect.reads && !written)
          return true;
      for (auto [effect, passed] : llvm::zip(launch.operandEffects(), launch.getArgs()))
        written |= passed == rows && effect.writes;
    }
    return false;
  };
  WalkResult found = module.walk([&](plan::SectionOp section) {
    bool written = false;
    return readsFirst(section.getBody().front(), written) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
  });
  return found.wasInterrupted();
}

kernel::FuncOp KernelEdits::kernelOf(plan::LaunchOp launch) {
  return module.lookupSymbol<kernel::FuncOp>(launch.getKernel());
}

IRMapping KernelEdits::split(Operation *first, Operation *last, plan::Condition condition) {
  OpBuilder b(first);
  auto when =
      plan::WhenOp::create(b, first->getLoc(), plan::WhenAttr::get(b.getContext(), {condition}));
  Block &copy = when.getBody().emplaceBlock(), &original = when.getOtherwise().emplaceBlock();
  original.getOperations().splice(original.end(), first->getBlock()->getOperations(),
                                  first->getIterator(), std::next(last->getIterator()));
  IRMapping mapping;
  b.setInsertionPointToEnd(&copy);
  for (Operation &op : original)
    b.clone(op, mapping);
  return mapping;
}

kernel::FuncOp KernelEdits::editedCopy(plan::LaunchOp launch, OpBuilder &b,
                                       ArrayRef<LaunchOperand> added, Edit edit,
                                       SmallVectorImpl<Attribute> &passed) {
  auto copy = cast<kernel::FuncOp>(b.clone(*kernelOf(launch)));
  copy.setSymName("k"); // so that names do not distinguish kernels
  Block &body = copy.getBody().front();
  llvm::append_range(passed, launch.getArgs());
  for (const LaunchOperand &operand : added) {
    body.addArgument(operand.type, copy.getLoc());
    passed.push_back(operand.ref);
  }
  edit(copy.anchor(), body.getArguments().take_back(added.size()));
  for (size_t i = passed.size(); i-- > 0;)
    if (body.getArgument(i).use_empty()) {
      body.eraseArgument(i);
      passed.erase(passed.begin() + i);
    }
  copy.setFunctionType(b.getFunctionType(body.getArgumentTypes(), {}));
  return copy;
}

kernel::KernelShape KernelEdits::shapeWith(const Target &target, ArrayRef<plan::LaunchOp> launches,
                                           ArrayRef<LaunchOperand> added, Edit edit) {
  OpBuilder b(module.getContext());
  kernel::KernelShape least;
  for (plan::LaunchOp launch : launches) {
    SmallVector<Attribute> passed;
    OwningOpRef<kernel::FuncOp> copy(editedCopy(launch, b, added, edit, passed));
    kernel::KernelShape shape = target.shapeOf(*copy);
    if (!shape.refused.empty())
      return shape;
    least.mostUnits = std::min(least.mostUnits, shape.mostUnits);
    least.workspaceBytes = std::max(least.workspaceBytes, shape.workspaceBytes);
  }
  return least;
}

void KernelEdits::edit(plan::LaunchOp launch, StringRef suffix, ArrayRef<LaunchOperand> added,
                       Edit edit) {
  kernel::FuncOp original = kernelOf(launch);
  OpBuilder b(original);
  SmallVector<Operation *> &siblings = copies[original];
  b.setInsertionPointAfter(siblings.empty() ? original.getOperation() : siblings.back());
  SmallVector<Attribute> passed;
  kernel::FuncOp copy = editedCopy(launch, b, added, edit, passed);

  std::string text;
  llvm::raw_string_ostream(text) << original.getSymName() << copy;
  if (Operation *&known = copiesByText[text]) {
    copy.erase();
    copy = cast<kernel::FuncOp>(known);
  } else {
    known = copy;
    const std::string first = (original.getSymName() + "_" + suffix).str();
    std::string name = first;
    for (int i = 1; module.lookupSymbol(name); ++i)
      name = first + std::to_string(i);
    copy.setSymName(name);
    siblings.push_back(copy);
  }
  launch.setKernel(copy.getSymName());
  launch.setArgsAttr(b.getArrayAttr(passed));
}

void KernelEdits::finish() {
  llvm::StringMap<SmallVector<plan::LaunchOp>> launches;
  module.walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
  for (auto &[original, siblings] : copies) {
    std::string name = cast<kernel::FuncOp>(original).getSymName().str();
    if (launches.contains(name))
      continue;
    original->erase();
    // A copy may have been edited again: then it may have no launches either, and is erased in turn.
    for (Operation *sibling : siblings) {
      auto copy = cast<kernel::FuncOp>(sibling);
      if (auto users = launches.find(copy.getSymName()); users != launches.end()) {
        SmallVector<plan::LaunchOp> moved = std::move(users->second);
        launches.erase(users);
        copy.setSymName(name);
        for (plan::LaunchOp launch : moved)
          launch.setKernel(name);
        launches[name] = std::move(moved);
        break;
      }
    }
  }
}
