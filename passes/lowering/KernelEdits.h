//===- KernelEdits.h - Kernels of single launches are changed --------------===//
//
// Launches that pass the same types share a kernel.func. Where some of them are to do more, they
// get a copy; copies that come out the same are one again.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/ops/Section.h"
#include "passes/lowering/ProgramBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot {

class Target;

class KernelEdits {
public:
  using Edit = llvm::function_ref<void(mlir::Operation *anchor, mlir::ValueRange added)>;

  explicit KernelEdits(mlir::ModuleOp module) : module(module) {}

  /// The launches whose kernels `Op` anchors, in the order of the program.
  template <typename Op> llvm::SmallVector<plan::LaunchOp> launchesOf() {
    llvm::SmallVector<plan::LaunchOp> launches;
    module.walk([&](plan::LaunchOp launch) {
      if (llvm::isa<Op>(launch.anchor()))
        launches.push_back(launch);
    });
    return launches;
  }
  /// What the launch passes for an operand of an op of its kernel.
  mlir::Attribute passedFor(plan::LaunchOp launch, mlir::Value operand) const {
    return launch.getArgs()[llvm::cast<mlir::BlockArgument>(operand).getArgNumber()];
  }

  /// Whether a section reads `rows` that were there before it began: the program repeats sections, so
  /// they may be those of another launch than the one that writes them in this section.
  bool areReadAcrossSections(mlir::Attribute rows);

  /// `plan.when [condition] { a copy } else { they }` instead of ops of one list; returns what the copies are.
  mlir::IRMapping split(mlir::Operation *first, mlir::Operation *last, plan::Condition condition);

  /// The launch gets a copy of its kernel, NAME_suffix, that takes `added` behind the operands it has; `edit` changes the
  /// copy around its anchor; it is given the arguments for them. Operands that nothing then has a use for go.
  void edit(plan::LaunchOp launch, llvm::StringRef suffix, llvm::ArrayRef<LaunchOperand> added,
            Edit edit);
  /// What the target says of the kernels that the launches would get: the first refusal, or the least
  /// `mostUnits` and the largest workspace. Nothing changes.
  kernel::KernelShape shapeWith(const Target &target, llvm::ArrayRef<plan::LaunchOp> launches,
                                llvm::ArrayRef<LaunchOperand> added, Edit edit);

  /// Drops kernels that lost all of their launches; the first copy takes the name over.
  void finish();

private:
  kernel::FuncOp kernelOf(plan::LaunchOp launch);
  /// A copy of the launch's kernel, edited; `passed` is what the launch then passes.
  kernel::FuncOp editedCopy(plan::LaunchOp launch, mlir::OpBuilder &b,
                            llvm::ArrayRef<LaunchOperand> added, Edit edit,
                            llvm::SmallVectorImpl<mlir::Attribute> &passed);

  mlir::ModuleOp module;
  llvm::StringMap<mlir::Operation *> copiesByText;
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> copies; // by original
};

/// What conditions call the counts of launches that have such a grid.
inline plan::Quantity quantityOf(kernel::Extent extent) {
  return extent == kernel::Extent::Rows ? plan::Quantity::Rows : plan::Quantity::Tokens;
}

/// The launches behind an op in its list, those of nested lists among them.
llvm::SmallVector<plan::LaunchOp> launchesBehind(mlir::Operation *op);

} // namespace ingot
