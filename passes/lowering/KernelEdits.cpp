//===- KernelEdits.cpp - See KernelEdits.h --------------------------------===//
#include "passes/lowering/KernelEdits.h"
#include "passes/planning/KernelEffects.h"

using namespace mlir;
using namespace ingot;

bool KernelEdits::areReadAcrossSections(Attribute rows) {
  auto readsFirst = [&](const plan::Case &one) {
    bool written = false;
    for (plan::LaunchOp launch : one.launches()) {
      bool writes = false;
      for (auto [effect, passed] : llvm::zip(operandEffects(kernelOf(launch)), launch.getArgs())) {
        if (passed == rows && effect.reads && !written)
          return true;
        writes |= passed == rows && effect.writes;
      }
      written |= writes;
    }
    return false;
  };
  WalkResult found = module.walk([&](plan::SectionOp section) {
    return llvm::any_of(section.cases(), readsFirst) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  });
  return found.wasInterrupted();
}

void KernelEdits::edit(plan::LaunchOp launch, ArrayRef<LaunchOperand> added,
                       llvm::function_ref<void(Operation *, ValueRange)> edit) {
  kernel::FuncOp original = kernelOf(launch);
  OpBuilder b(original);
  b.setInsertionPointAfter(original);
  auto copy = cast<kernel::FuncOp>(b.clone(*original));
  copy.setSymName("k"); // names are no difference
  Block &body = copy.getBody().front();
  SmallVector<Attribute> passed(launch.getArgs().begin(), launch.getArgs().end());
  for (const LaunchOperand &operand : added) {
    body.addArgument(operand.type, copy.getLoc());
    passed.push_back(operand.ref);
  }
  copy.setFunctionType(b.getFunctionType(body.getArgumentTypes(), {}));
  edit(copy.structuredOp(), body.getArguments().take_back(added.size()));

  std::string text;
  llvm::raw_string_ostream(text) << original.getSymName() << copy;
  if (kernel::FuncOp &known = copiesByText[text]) {
    copy.erase();
    copy = known;
  } else {
    known = copy;
    SmallVector<kernel::FuncOp> &siblings = copies[original];
    std::string name;
    do
      name = (original.getSymName() + "_v" + Twine(siblings.size())).str();
    while (module.lookupSymbol(name));
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
    std::string name = original.getSymName().str();
    if (launches.contains(name))
      continue;
    original.erase();
    // A copy may have been edited again: then it may have no launches either, and goes in its turn.
    for (kernel::FuncOp copy : siblings)
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
