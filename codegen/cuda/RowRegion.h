//===- RowRegion.h - What a region computes for a row, as text --------------===//
//
// The region of a kernel.rowwise, whether it writes rows or blocks of a projection compute them. Both print it through this class, and cut the sums of a statistic alike, so that they
// give the same bits:
//
//   warp w of `rowWarps(n)` adds the elements 32 w + lane, + 32 rowWarps(n), … of its lanes, the
//   lanes meet in a butterfly, and the warps are added in order (batch.cuh: sum_of_warps)
//
// Values that depend on statistics alone have one value per row and are computed once.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/RegionWalker.h"
#include "codegen/cuda/KernelText.h"
#include "dialects/kernel/ops/Region.h"

#include "llvm/ADT/DenseSet.h"

namespace ingot::cuda {

/// Warps whose sums make a statistic over n values.
inline int64_t rowWarps(int64_t n) { return n >= 1024 ? 8 : 4; }

class RowRegion {
public:
  /// `inputs` are what the region's arguments are elements of; they have names in `k`.
  RowRegion(KernelText &k, mlir::Region &region, mlir::ValueRange inputs);

  /// Nothing counts as printed: for a scope of its own.
  void restart();
  llvm::ArrayRef<kernel::RowStatOp> stats() const { return statistics; }
  /// Prints what has one value per row and comes before `end` (null: all), but for the statistics:
  /// the caller prints those and says their names.
  mlir::LogicalResult emitUniform(mlir::Operation *end);
  int nextNumber() { return count++; }
  void setMean(kernel::RowStatOp stat, llvm::StringRef name) {
    texts.set(stat.getResult(), name.str());
  }
  /// Element i of a row: prints what a value needs, each operation once, and returns its text.
  /// `row`: the text of the number of the inputs' row, `index`: of the element's number in it.
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
  RegionWalker<std::string> texts;     ///< of those
  int count = 0;
};

/// Element `index` of a row of `memory` (of a vector: that element; of rows of one value: that).
std::string elementAt(const KernelText &k, mlir::Value memory, llvm::StringRef row,
                      llvm::StringRef index = "i");

} // namespace ingot::cuda
