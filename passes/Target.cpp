//===- Target.cpp - The registered targets --------------------------------===//
#include "passes/Target.h"

using namespace ingot;

static std::vector<const Target *> &known() {
  static std::vector<const Target *> targets;
  return targets;
}

void ingot::registerTarget(const Target &target) {
  if (!llvm::is_contained(llvm::map_range(known(), std::mem_fn(&Target::kind)), target.kind()))
    known().push_back(&target);
}

llvm::ArrayRef<const Target *> ingot::knownTargets() { return known(); }

const Target &ingot::targetOf(DeviceKind kind) {
  auto found = llvm::find_if(known(), [&](const Target *one) { return one->kind() == kind; });
  assert(found != known().end() && "no target for this kind of device is registered");
  return **found;
}
