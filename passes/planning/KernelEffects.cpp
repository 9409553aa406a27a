//===- KernelEffects.cpp - What a kernel reads and writes -----------------===//
#include "passes/planning/KernelEffects.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

SmallVector<OperandEffect> ingot::operandEffects(FuncOp fn) {
  SmallVector<OperandEffect> effects(fn.getNumArguments());
  auto note = [&](Value operand, bool reads, bool writes) {
    if (!operand)
      return;
    OperandEffect &effect = effects[cast<BlockArgument>(operand).getArgNumber()];
    effect.reads |= reads, effect.writes |= writes;
  };
  Operation *op = fn.structuredOp();
  for (Value operand : op->getOperands())
    note(operand, true, false);
  auto writesOnly = [&](Value operand) {
    effects[cast<BlockArgument>(operand).getArgNumber()] = {false, true};
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](MatmulOp matmul) {
        llvm::for_each(matmul.getOutputs(), writesOnly);
        note(matmul.getKeys(), true, true), note(matmul.getKv(), false, true);
        if (matmul.getMaxima())
          writesOnly(matmul.getMaxima());
      })
      .Case([&](RowwiseOp rowwise) { llvm::for_each(rowwise.getOutputs(), writesOnly); })
      .Case([&](GatherOp gather) { writesOnly(gather.getOutput()); })
      .Case([&](RopeTableOp table) { writesOnly(table.getOutput()); })
      .Case([&](Fp8RowsOp rows) { writesOnly(rows.getOutput()); })
      .Case([&](AttentionOp attention) { writesOnly(attention.getOutput()); })
      .Case([&](RopeAppendOp append) {
        note(append.getQ(), true, true), note(append.getKv(), false, true);
      });
  return effects;
}
