//===- Region.h - Contents of the regions of structured ops ---------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

namespace ingot::kernel {
class MatmulOp;
class RowwiseOp;
} // namespace ingot::kernel

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Region.h.inc"

namespace ingot::kernel {

/// Checks a region that has `arguments` f32 arguments and yields `yields` values; its ops are elementwise or
/// row_stat.
mlir::LogicalResult verifyRegion(mlir::Operation *op, mlir::Region &region, size_t arguments,
                                 size_t yields);
/// Returns whether the type is f32 rows or a vector of n values, from which a region reads one element.
bool isInputOf(int64_t n, mlir::Type type);

} // namespace ingot::kernel
