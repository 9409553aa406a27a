//===- Target.cpp - The registered targets --------------------------------===//
#include "passes/Target.h"

using namespace ingot;

static std::vector<const Target *> &known() {
  static std::vector<const Target *> targets;
  return targets;
}

void ingot::registerTarget(const Target &target) {
  if (!targetNamed(target.name()))
    known().push_back(&target);
}

llvm::ArrayRef<const Target *> ingot::knownTargets() { return known(); }

const Target *ingot::targetNamed(llvm::StringRef name) {
  for (const Target *target : known())
    if (target->name() == name)
      return target;
  return nullptr;
}

const Target *ingot::expectTarget(mlir::Operation *op, llvm::StringRef device) {
  const Target *target = targetNamed(device);
  if (!target) {
    mlir::InFlightDiagnostic error = op->emitError("expects as device a target of");
    for (const Target *one : known())
      error << " " << one->name();
    error << ", got " << device;
  }
  return target;
}
