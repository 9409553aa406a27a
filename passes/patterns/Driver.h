//===- Driver.h - Applies the patterns of one file -------------------------===//
//
// The compiler's own patterns and those of users go through the same driver, so a file has the same effect in
// a pass of the compiler as under --patterns. The driver uses MLIR's greedy driver, which begins with the last op.
// Folding is off, because a folder may read an attribute that the pattern did not set on a new op. Regions are not
// simplified.
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/patterns/Natives.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::patterns {

class Driver final : mlir::RewriterBase::Listener {
public:
  /// Copies the patterns of a module. The native functions query `whom` and `compositions` (see `Run`).
  explicit Driver(mlir::ModuleOp patterns, CompiledFor whom = {},
                  Compositions *compositions = nullptr);
  Driver(const Driver &) = delete; // the natives refer to `run`

  /// Applies the patterns to the ops in `top`, which is isolated from above, until none matches or the driver
  /// has rewritten `limit` times (negative: no limit).
  void applyTo(mlir::Operation *top, int64_t limit = -1);

  /// Tries the patterns once on each of these launches. Launches that `compositions` adds are not tried, because they
  /// are copies of these for other steps.
  void offer(llvm::ArrayRef<mlir::Operation *> launches);

  /// Emits an error for `owner` if a rewrite by a pattern of `file` was invalid, or if the patterns do not terminate.
  mlir::LogicalResult check(mlir::Operation *owner, llvm::StringRef file) const;
  /// Whether a rewrite was invalid: it erased an op whose value is used, or it requested something impossible.
  bool failed() const { return !erased.empty() || !run.failure.empty(); }

  int64_t rewrites() const { return count; }
  bool hasRewrittenBy(llvm::StringRef pattern) const { return byPattern.contains(pattern); }
  bool hasRewrittenIn(llvm::StringRef function) const { return byFunction.contains(function); }
  /// "the pattern SumIsProduct rewrote lm.add 'ffn_residual' of @layer".
  const std::string &lastRewrite() const { return last; }
  /// The first missed remark, "NAME: why"; "" if there was none.
  const std::string &firstMissed() const { return run.firstMissed; }

private:
  void notifyPatternBegin(const mlir::Pattern &, mlir::Operation *op) override;
  void notifyPatternEnd(const mlir::Pattern &, llvm::LogicalResult result) override;
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override;
  void notifyOperationErased(mlir::Operation *op) override;

  Run run;
  mlir::FrozenRewritePatternSet rules;
  int64_t count = 0;
  bool endless = false;
  llvm::StringSet<> byPattern, byFunction;
  std::string begun, function,
      last; ///< the op of the rewrite in progress, its function; the last completed rewrite
  std::string erased; ///< the first op that was erased although it is used
};

} // namespace ingot::patterns
