//===- Structure.h - Kernels ----------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include <limits>

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Structure.h.inc"

namespace ingot::kernel {

/// Checks that all matrices the kernel reads have that layout, where a layout was chosen; else emits an
/// error.
mlir::LogicalResult expectLayout(FuncOp kernel, lm::WeightLayout layout);

} // namespace ingot::kernel
