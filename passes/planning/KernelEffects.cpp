//===- KernelEffects.cpp - What a kernel reads and writes -----------------===//
#include "passes/planning/KernelEffects.h"
#include "dialects/kernel/ops/Structure.h"

using namespace mlir;
using namespace ingot;

SmallVector<OperandEffect> ingot::operandEffects(kernel::FuncOp fn) {
  SmallVector<OperandEffect> effects(fn.getNumArguments());
  SmallVector<MemoryEffects::EffectInstance> all;
  for (Operation &op : fn.ops())
    cast<MemoryEffectOpInterface>(op).getEffects(all);
  for (const MemoryEffects::EffectInstance &one : all) {
    auto operand = dyn_cast<BlockArgument>(one.getValue());
    if (!operand)
      continue; // a flow is no memory
    OperandEffect &effect = effects[operand.getArgNumber()];
    effect.reads |= isa<MemoryEffects::Read>(one.getEffect());
    effect.writes |= isa<MemoryEffects::Write>(one.getEffect());
  }
  return effects;
}
