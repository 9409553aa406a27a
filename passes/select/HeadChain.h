//===- HeadChain.h - The ops on heads before attention or the cache -----------===//
#pragma once

#include "dialects/lm/ops/Attention.h"
#include "dialects/lm/ops/Norm.h"

namespace ingot {

/// The ops from a projection's rows to the queries of attention or to the keys of the cache: rotation and norm of
/// heads in either order, then a temperature by position. All are optional.
struct HeadChain {
  /// Walks up from `end`, which `consumer` reads, as long as `takes(op, user)` accepts an op; `user` is the op of the
  /// chain (or `consumer`) that reads the result of `op`.
  HeadChain(mlir::Value end, mlir::Operation *consumer,
            llvm::function_ref<bool(mlir::Operation *, mlir::Operation *)> takes)
      : start(end) {
    auto take = [&]<typename Op>(Op &to) {
      auto op = start.getDefiningOp<Op>();
      if (!op || !takes(op, consumer))
        return;
      to = op;
      start = op.getX(), consumer = op;
    };
    take(temperature);
    take(norm);
    take(rope);
    normAfter = norm && rope;
    if (!norm)
      take(norm);
  }

  mlir::Value start; ///< the rows that enter the chain
  lm::ScaleByPositionOp temperature = {};
  lm::RopeOp rope = {};
  lm::NormInterface norm = {};
  bool normAfter = false; ///< the norm follows the rotation
};

} // namespace ingot
