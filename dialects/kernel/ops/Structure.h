//===- Structure.h - Kernels ----------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include <limits>

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Structure.h.inc"

namespace ingot::kernel {

/// Checks that all matrices that the kernel reads have the layout `layout` or no chosen layout. Emits an error
/// otherwise.
mlir::LogicalResult expectLayout(FuncOp kernel, lm::WeightLayout layout);

} // namespace ingot::kernel
