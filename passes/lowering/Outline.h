//===- Outline.h - From the region of a launch to a kernel.func -------------===//
#pragma once

#include "dialects/kernel/ops/Structure.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ingot {

/// Moves the ops of a region, whose arguments are memory, into a new kernel.func "k" at the insertion point. Its
/// arguments are those of the region, in the order in which the ops use them; `order` receives their numbers in the
/// region.
kernel::FuncOp outline(mlir::ImplicitLocOpBuilder &b, mlir::Region &region,
                       llvm::SmallVectorImpl<unsigned> &order);

} // namespace ingot
