//===- RowRegion.h - A row region's computation as CUDA text ----------------===//
//
// Prints the region of a kernel.rowwise. The op either writes rows, or the blocks of a projection
// compute its rows. Both cases print through this class and split the sum of a statistic in the
// same way, so they give the same bits:
//
//   Each lane of warp w (of `rowWarps(n)` warps) adds the elements 32 w + lane, + 32 rowWarps(n), …
//   A butterfly adds the lanes of a warp. The sums of the warps are added in order (batch.cuh:
//   sum_of_warps).
//
// Values that depend on statistics alone have one value per row and are computed once.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/RegionWalker.h"
#include "codegen/cuda/KernelText.h"
#include "dialects/kernel/ops/Region.h"

#include "llvm/ADT/DenseSet.h"

namespace ingot::codegen::cuda {

/// Returns the number of warps that a statistic over n values is split among.
inline int64_t rowWarps(int64_t n) { return n >= 1024 ? 8 : 4; }

class RowRegion {
public:
  /// The region's arguments are elements of `inputs`, which are already named in `k`.
  RowRegion(KernelText &k, mlir::Region &region, mlir::ValueRange inputs);

  /// Forgets which values have been printed, for a new scope.
  void restart();
  llvm::ArrayRef<kernel::RowStatOp> stats() const { return statistics; }
  /// Prints the operations before `end` (null: all) that have one value per row, except statistics:
  /// the caller prints those and passes their names to `setMean`.
  mlir::LogicalResult emitUniform(mlir::Operation *end);
  int nextNumber() { return count++; }
  void setMean(kernel::RowStatOp stat, llvm::StringRef name) {
    texts.set(stat.getResult(), name.str());
  }
  /// Computes values for one element of a row. It prints the operations that a value needs, each once, and returns the
  /// text of the value. `row` is the text of the inputs' row index, and `index` is the text of the element's index.
  class Elements {
  public:
    Elements(RowRegion &region, llvm::StringRef row, llvm::StringRef index = "i");
    Elements(const Elements &) = delete;
    mlir::FailureOr<std::string> operator()(mlir::Value value) { return walker(value); }

  private:
    RegionWalker<std::string> walker;
  };
  mlir::ValueRange yielded() const { return body.getTerminator()->getOperands(); }

private:
  KernelText &k;
  mlir::Block &body;
  mlir::ValueRange inputs;
  llvm::SmallVector<kernel::RowStatOp> statistics;
  llvm::DenseSet<mlir::Value> uniform; ///< one value per row
  RegionWalker<std::string> texts;     ///< texts of the uniform values
  int count = 0;
};

/// Returns the text of element `index` of a row of `memory`. If `memory` is a vector, `row` is ignored; if its rows
/// have one value, `index` is ignored.
std::string elementAt(const KernelText &k, mlir::Value memory, llvm::StringRef row,
                      llvm::StringRef index = "i");

} // namespace ingot::codegen::cuda
