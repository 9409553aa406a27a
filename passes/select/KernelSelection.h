//===- KernelSelection.h - Selects the kernels of one function -------------===//
//
// Each op or fused region of a layer kind or of the entry point becomes a kernel on values (kernel.dispatch). The type
// of a value gives its encoding, and the ops that compute it give its number of rows (RowEncodings.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/ops/Dispatch.h"
#include "dialects/lm/ops/Attention.h"
#include "passes/Passes.h"
#include "passes/select/RowEncodings.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ingot::lm {
class CausalConvOp;
class CombineOp;
class EmbedOp;
class EmbedPositionsOp;
class FusedOp;
class PermuteOp;
class CastOp;
class RouteOp;
class RowOpInterface;
} // namespace ingot::lm

namespace ingot {

/// The choices on which the selection depends, besides the model.
struct SelectionChoices {
  bool exact;
  KvFormat kv;            ///< format of states that do not specify one
  llvm::StringRef device; ///< name of the target
};

class KernelSelection {
public:
  /// `block` is the body of a layer kind or of the entry point.
  KernelSelection(mlir::Block &block, SelectionChoices choices)
      : block(block), choices(choices),
        names(block.getParentOp(), mlir::OpPrintingFlags().printNameLocAsPrefix()) {}

  /// Selects the kernels of all ops. The lm ops that they replace are erased.
  mlir::LogicalResult run();
  /// Selects the kernels of one op of the block and leaves the op in place. Emits an error if there are none.
  mlir::LogicalResult select(mlir::Operation *op);
  /// The kernels selected so far, in order.
  llvm::ArrayRef<kernel::DispatchOp> dispatches() const { return made; }

private:
  mlir::LogicalResult selectKernels(mlir::Operation *op);
  mlir::LogicalResult selectEmbed(lm::EmbedOp op);
  mlir::LogicalResult selectEmbedPositions(lm::EmbedPositionsOp op);
  mlir::LogicalResult selectCast(lm::CastOp op);
  mlir::LogicalResult selectMatmul(mlir::Operation *top, llvm::ArrayRef<mlir::Operation *> ops,
                                   llvm::StringRef name);
  mlir::LogicalResult selectRowwise(mlir::Operation *top, llvm::ArrayRef<mlir::Operation *> ops,
                                    llvm::StringRef name);
  mlir::LogicalResult selectPermute(mlir::Operation *top, lm::PermuteOp op);
  // ExpertKernels.cpp
  mlir::LogicalResult selectRoute(lm::RouteOp op);
  mlir::LogicalResult selectCombine(lm::CombineOp op);
  // StateKernels.cpp
  mlir::LogicalResult selectRopeAppend(mlir::Operation *top, llvm::ArrayRef<mlir::Operation *> ops);
  mlir::LogicalResult selectAttention(mlir::Operation *top, lm::AttentionOp op);
  mlir::LogicalResult selectCausalConv(lm::CausalConvOp op);
  /// The table of cos and sin that a rotation reads. Rotations with the same frequencies and attention factor share a
  /// table, which is computed at the beginning of the function.
  mlir::Value tableFor(lm::RopeOp rope);

  // CustomKernels.cpp
  /// The code of an external kernel and its definition in lm.
  struct CustomKernel {
    llvm::StringRef origin, body;
    double error;
    int64_t operations;
    /// Builds the lm ops that define the kernel at the insertion point, and maps the kernel's results to their values.
    llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::IRMapping &)> meaning;
  };
  mlir::LogicalResult selectCustom(mlir::Operation *top, llvm::ArrayRef<mlir::Value> read,
                                   const CustomKernel &code);
  mlir::LogicalResult selectOutside(lm::RowOpInterface op);
  mlir::LogicalResult selectDecomposed(lm::RowOpInterface op);
  mlir::LogicalResult selectWithKernel(lm::FusedOp op, llvm::StringRef body);

  /// A result of a dispatch: the value of lm that it replaces, and the operand whose memory it takes over, or -1.
  struct Result {
    Result(mlir::Value value, int64_t tied = -1) : value(value), tied(tied) {}
    mlir::Value value;
    int64_t tied;
  };
  /// Builds the kernel from the memory of operands and of results that are not tied.
  using Build = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::ValueRange operands,
                                        mlir::ValueRange results)>;
  /// Makes a dispatch before the op being selected. `operands` and `results` are values of lm. Ops that are selected
  /// later read the results of the dispatch in place of `results`. `rows` names the buffers of the results.
  void dispatch(llvm::StringRef name, llvm::StringRef rows, llvm::ArrayRef<mlir::Value> operands,
                llvm::ArrayRef<Result> results, Build build);
  /// The type of the memory that holds a value of lm.
  mlir::Type memoryOf(mlir::Value value) const;
  /// The op being selected, as text.
  std::string opsBeingSelected();
  /// Copies rows element by element to rows of other encodings.
  void copyRows(llvm::StringRef name, llvm::StringRef rows, mlir::Value from, mlir::Value to);

  mlir::Block &block;
  SelectionChoices choices;
  mlir::Operation *selected = nullptr;
  mlir::IRMapping values; ///< from values of lm to those of dispatches
  llvm::SmallVector<kernel::DispatchOp> made;
  llvm::SmallVector<mlir::Operation *> replaced; ///< ops that dispatches replace, in order
  llvm::SmallVector<std::pair<lm::RopeOp, mlir::Value>> tables;
  mlir::AsmState names; ///< of the function's values, before any of its ops is replaced
};

} // namespace ingot
