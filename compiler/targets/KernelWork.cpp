//===- KernelWork.cpp - See KernelWork.h ----------------------------------===//
#include "compiler/targets/KernelWork.h"
#include "compiler/crash/CrashContext.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/kernel/ops/Structure.h"

#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

std::unique_ptr<fb::KernelCostT> compiler::kernelWork(kernel::FuncOp fn) {
  kernel::LaunchInterface op = fn.launch();
  auto cost = std::make_unique<fb::KernelCostT>();
  cost->arithmetic = fb::Arithmetic::F32;
  cost->per_row = op.isPerRow();
  cost->bytes_per_unit = fn.bytesPerUnit();
  cost->operations_per_unit = op.operationsPerUnit();
  cost->bytes_per_position = op.bytesPerPosition();
  cost->operations_per_position = op.operationsPerPosition();
  return cost;
}

std::function<void(StringRef)> compiler::suspectCode(ArrayRef<kernel::FuncOp> kernels,
                                                     const std::string &target) {
  struct Known {
    std::string words;
    Whose whose;
  };
  std::map<std::string, Known> known; // copied, because threads must not use the kernels themselves
  for (kernel::FuncOp fn : kernels) {
    auto custom = dyn_cast<kernel::CustomOp>(fn.anchor());
    known[fn.getSymName().str()] = {custom ? "its body comes from " + custom.getOrigin().str()
                                           : "it computes " +
                                                 fn.anchor()->getName().getStringRef().str(),
                                    custom ? Whose::Theirs : Whose::Ours};
  }
  return [known, target](StringRef kernel) {
    auto found = known.find(kernel.str());
    if (kernel.empty())
      suspect("");
    else if (found == known.end())
      suspect("the code generation of " + kernel.str() + " for " + target, "it generates weights",
              Whose::Ours);
    else
      suspect("the code generation of @" + kernel.str() + " for " + target, found->second.words,
              found->second.whose);
  };
}
