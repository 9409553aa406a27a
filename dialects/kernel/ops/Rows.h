//===- Rows.h - Rows of activations ---------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Rows.h.inc"

namespace ingot::kernel {

/// Builds a kernel that writes a row to each output, element by element, in the output's encoding.
RowwiseOp copyRows(mlir::OpBuilder &b, mlir::Location location, mlir::Value from,
                   mlir::ValueRange to, Extent extent, int64_t rowsOfToken);

} // namespace ingot::kernel
