//===- Target.cpp - The targets that are known ----------------------------===//
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
