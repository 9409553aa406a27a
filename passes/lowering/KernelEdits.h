//===- KernelEdits.h - Changes the kernels of single launches --------------===//
//
// Launches of the same kernel share a kernel.func. A launch whose kernel changes gets a copy of it first; identical
// copies are merged.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/ops/Section.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot {

class Target;

/// An operand of a launch: the type in the kernel, and the argument that the plan passes.
struct LaunchOperand {
  mlir::Type type;
  mlir::Attribute ref;
};

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
  /// The argument that the launch passes for an operand of an op in its kernel.
  mlir::Attribute passedFor(plan::LaunchOp launch, mlir::Value operand) const {
    return launch.getArgs()[llvm::cast<mlir::BlockArgument>(operand).getArgNumber()];
  }

  /// Whether a section reads `rows` that were written before it began. The program repeats sections, so these
  /// rows may come from a launch other than the one that writes them in this section.
  bool areReadAcrossSections(mlir::Attribute rows);

  /// Replaces the ops first..last of one list by `plan.when [condition] { a copy } else { the ops }`; returns
  /// the mapping from the ops to their copies.
  mlir::IRMapping split(mlir::Operation *first, mlir::Operation *last, plan::Condition condition);

  /// Gives the launch a copy of its kernel, NAME_suffix, that takes `added` after its present operands.
  /// `edit` changes the copy around its anchor and receives the arguments for `added`. Operands that become
  /// unused are removed.
  void edit(plan::LaunchOp launch, llvm::StringRef suffix, llvm::ArrayRef<LaunchOperand> added,
            Edit edit);
  /// The target's answer for the kernels that the launches would get: the first refusal, or the smallest
  /// `mostUnits` and the largest workspace. Changes nothing.
  kernel::KernelShape shapeWith(const Target &target, llvm::ArrayRef<plan::LaunchOp> launches,
                                llvm::ArrayRef<LaunchOperand> added, Edit edit);

  /// Removes kernels that lost all of their launches. The first copy of each that is still launched takes over its
  /// name.
  void finish();

private:
  kernel::FuncOp kernelOf(plan::LaunchOp launch);
  /// A copy of the launch's kernel, edited; `passed` receives the arguments that the launch must then pass.
  kernel::FuncOp editedCopy(plan::LaunchOp launch, mlir::OpBuilder &b,
                            llvm::ArrayRef<LaunchOperand> added, Edit edit,
                            llvm::SmallVectorImpl<mlir::Attribute> &passed);

  mlir::ModuleOp module;
  llvm::StringMap<mlir::Operation *> copiesByText;
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> copies; // by original
};

/// The quantity that counts the units of a kernel of this extent: logits rows or tokens.
inline plan::Quantity quantityOf(kernel::Extent extent) {
  return extent == kernel::Extent::Rows ? plan::Quantity::Rows : plan::Quantity::Tokens;
}

/// The launches after an op in its list, including those in nested lists.
llvm::SmallVector<plan::LaunchOp> launchesBehind(mlir::Operation *op);

} // namespace ingot
