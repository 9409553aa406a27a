//===- KernelEffects.cpp - What a kernel reads and writes -----------------===//
#include "passes/planning/KernelEffects.h"
#include "dialects/kernel/ops/Structure.h"

using namespace mlir;
using namespace ingot;

SmallVector<OperandEffect> ingot::operandEffects(kernel::FuncOp fn) {
  SmallVector<OperandEffect> effects(fn.getNumArguments());
  SmallVector<MemoryEffects::EffectInstance> all;
  cast<MemoryEffectOpInterface>(fn.structuredOp()).getEffects(all);
  for (const MemoryEffects::EffectInstance &one : all) {
    OperandEffect &effect = effects[cast<BlockArgument>(one.getValue()).getArgNumber()];
    effect.reads |= isa<MemoryEffects::Read>(one.getEffect());
    effect.writes |= isa<MemoryEffects::Write>(one.getEffect());
  }
  return effects;
}
