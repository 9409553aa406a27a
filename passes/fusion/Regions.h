//===- Regions.h - Wrap ops into an lm.fused region -----------------------===//
#pragma once

#include "dialects/lm/ops/Fused.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace ingot {

using OpGroup = llvm::SetVector<mlir::Operation *>;

/// Whether the ops of one block can become a single op: no value leaves the group and re-enters it.
bool isConvex(const OpGroup &group);

/// Wraps the group into `lm.fused "pattern"`, sorts the block topologically and emits a remark. The results of the
/// region are the values that are used outside, in order of definition. The group must be convex.
lm::FusedOp fuse(const OpGroup &group, llvm::StringRef pattern);
/// fuse() without a remark.
lm::FusedOp wrap(const OpGroup &group, llvm::StringRef pattern);

/// Moves the ops of a region in front of it and erases the region. Returns the ops, in order.
OpGroup inlineRegion(mlir::RewriterBase &rewriter, lm::FusedOp fused);

/// Emits a remark about a fusion: shown by `--remarks passed`, `--remarks-filter-passed=fusion`. Both kinds
/// of remark name the function, section or kernel that contains the op, and the op or the ops in it.
void remarkPassed(mlir::Operation *op, llvm::StringRef pattern, const llvm::Twine &what);
/// Emits a remark about why something was not fused: shown by `--remarks missed`,
/// `--remarks-filter-missed=fusion`.
void remarkMissed(mlir::Operation *op, llvm::StringRef pattern, const llvm::Twine &reason);

/// The defining op of `value` if it is an `Op` in the same block as `user` and `value` has no other use; else
/// null.
template <typename Op> Op onlyUsedHere(mlir::Value value, mlir::Operation *user) {
  auto op = value.getDefiningOp<Op>();
  return op && op->getBlock() == user->getBlock() && value.hasOneUse() ? op : Op();
}

} // namespace ingot
