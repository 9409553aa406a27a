//===- Origin.h - The lm ops from which a launch was made ------------------===//
//
// The selection of kernels removes all lm ops, but people who inspect an engine want to see them. The ops are therefore
// kept as text in the location of the launch, which survives all passes and is not printed with the IR.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Location.h"

namespace ingot::plan {
class LaunchOp;
}

namespace ingot {

/// The location of a launch that was made of these ops.
mlir::Location originIn(mlir::Location place, llvm::StringRef ops);

/// Empty if the launch implements no lm op, or if its IR was read from a file.
llvm::StringRef originOf(plan::LaunchOp launch);

/// Records that `launch` also does the work of `other`, which came before or after it.
void addOriginBefore(plan::LaunchOp launch, plan::LaunchOp other);
void addOriginBehind(plan::LaunchOp launch, plan::LaunchOp other);

} // namespace ingot
