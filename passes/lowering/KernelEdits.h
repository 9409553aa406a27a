//===- KernelEdits.h - Kernels of single launches are changed --------------===//
//
// Launches that pass the same types share a kernel.func. Where some of them are to do more, they
// get a copy; copies that come out the same are one again.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/ops/Structure.h"
#include "dialects/plan/ops/Section.h"
#include "passes/lowering/SectionLowering.h"

#include "mlir/IR/IRMapping.h"

namespace ingot {

class KernelEdits {
public:
  explicit KernelEdits(mlir::ModuleOp module) : module(module) {}

  kernel::FuncOp kernelOf(plan::LaunchOp launch) {
    return module.lookupSymbol<kernel::FuncOp>(launch.getKernel());
  }
  /// What the launch passes for an operand of its kernel's structured op.
  mlir::Attribute passedFor(plan::LaunchOp launch, mlir::Value operand) const {
    return launch.getArgs()[llvm::cast<mlir::BlockArgument>(operand).getArgNumber()];
  }

  /// Whether a section reads `rows` that were there before it began: the program repeats sections, so
  /// they may be those of another launch than the one that writes them in this section.
  bool areReadAcrossSections(mlir::Attribute rows);

  /// `plan.when [condition] { a copy } else { they }` instead of ops of one list; returns what the copies are.
  mlir::IRMapping split(mlir::Operation *first, mlir::Operation *last, plan::Condition condition);

  /// The launch gets a copy of its kernel, NAME_suffix, that takes `added` behind the operands it has; `edit` changes the
  /// structured op of the copy, whose arguments for them it is given. Operands that it then has no use for go.
  void edit(plan::LaunchOp launch, llvm::StringRef suffix, llvm::ArrayRef<LaunchOperand> added,
            llvm::function_ref<void(mlir::Operation *, mlir::ValueRange)> edit);

  /// Drops kernels that lost all of their launches; the first copy takes the name over.
  void finish();

private:
  mlir::ModuleOp module;
  llvm::StringMap<kernel::FuncOp> copiesByText;
  llvm::MapVector<kernel::FuncOp, llvm::SmallVector<kernel::FuncOp>> copies; // by original
};

/// What conditions call the counts of launches that have such a grid.
inline plan::Quantity quantityOf(kernel::Extent extent) {
  return extent == kernel::Extent::Rows ? plan::Quantity::Rows : plan::Quantity::Tokens;
}

/// The launches behind an op in its list, those of nested lists among them.
llvm::SmallVector<plan::LaunchOp> launchesBehind(mlir::Operation *op);

} // namespace ingot
