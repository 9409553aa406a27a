//===- KernelWork.cpp - See KernelWork.h ----------------------------------===//
#include "compiler/targets/KernelWork.h"
#include "compiler/console/CrashContext.h"
#include "dialects/kernel/ops/Custom.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/abi/Batch.h"

#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// Bytes that a launch moves per token (or row), without weights, workspaces and the KV cache it reads.
static int64_t bytesPerUnit(kernel::FuncOp fn) {
  int64_t bytes = 0;
  kernel::LaunchInterface op = fn.launch();
  for (auto [argument, effect] : llvm::zip(fn.getArguments(), fn.operandEffects())) {
    if (auto rows = dyn_cast<kernel::ActivationType>(argument.getType()))
      bytes += (effect.reads + effect.writes) * rows.rowBytes() * op.rowsOfUnit(argument);
    else if (auto routes = dyn_cast<kernel::RoutesType>(argument.getType()))
      bytes += (effect.reads + effect.writes) * routes.bytesPerToken();
    else if (auto pool = dyn_cast<kernel::KvPoolType>(argument.getType()))
      bytes += effect.writes * pool.pageBytes() / kPageTokens;
    else if (auto state = dyn_cast<kernel::FixedStateType>(argument.getType()))
      bytes += (effect.reads + effect.writes) * state.slotBytes(); // of a sequence that decodes
    else if (auto weight = dyn_cast<lm::WeightType>(argument.getType());
             weight && op.gathersWeights())
      bytes += kernel::packedRowBytes(weight);
  }
  return bytes;
}

std::unique_ptr<fb::KernelCostT> compiler::kernelWork(kernel::FuncOp fn) {
  kernel::LaunchInterface op = fn.launch();
  auto cost = std::make_unique<fb::KernelCostT>();
  cost->arithmetic = fb::Arithmetic::F32;
  cost->per_row = op.isPerRow();
  cost->bytes_per_unit = bytesPerUnit(fn);
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
