//===- Region.h - What stands in the regions of structured ops ------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class MatmulOp;
class RowwiseOp;
} // namespace ingot::kernel

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Region.h.inc"

namespace ingot::kernel {

/// A region of f32 arguments that yields `yields` values; ops are elementwise or row_stat.
mlir::LogicalResult verifyRegion(mlir::Operation *op, mlir::Region &region, size_t arguments,
                                 size_t yields);
/// Whether it is f32 rows or a vector of n values: what a region reads an element of.
bool isInputOf(int64_t n, mlir::Type type);

} // namespace ingot::kernel
