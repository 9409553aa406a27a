//===- Structure.h - Kernels ----------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#include <limits>

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Structure.h.inc"

namespace ingot::kernel {

/// Whether all matrices that it reads lie so, where a layout was chosen; else an error.
mlir::LogicalResult expectLayout(FuncOp kernel, lm::WeightLayout layout);

} // namespace ingot::kernel
