//===- Origin.h - Which ops of lm a launch was made of ---------------------===//
//
// Lowering leaves nothing of lm behind, and people who look at an engine want to see it: the ops stand as text in the
// location of the launch, which follows it through all passes and which no printer of IR shows.
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Support/LLVM.h"

namespace ingot::plan {
class LaunchOp;
}

namespace ingot {

void setOrigin(plan::LaunchOp launch, llvm::StringRef ops);

/// Empty where the launch does nothing of lm, or where its IR was read from a file.
llvm::StringRef originOf(plan::LaunchOp launch);

/// `launch` does the work of `other` as well, which stood before or behind it.
void addOriginBefore(plan::LaunchOp launch, plan::LaunchOp other);
void addOriginBehind(plan::LaunchOp launch, plan::LaunchOp other);

} // namespace ingot
