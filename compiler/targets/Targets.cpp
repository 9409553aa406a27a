//===- Targets.cpp - All targets ------------------------------------------===//
#include "compiler/targets/CodeTarget.h"

using namespace ingot;
using namespace ingot::compiler;

llvm::ArrayRef<const CodeTarget *> compiler::codeTargets() {
  static const CodeTarget *const all[] = {&cpuTarget(), &cudaTarget()};
  return all;
}

void compiler::registerTargets() {
  for (const CodeTarget *target : codeTargets())
    registerTarget(*target);
}
