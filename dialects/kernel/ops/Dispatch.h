//===- Dispatch.h - Kernels on values -------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Dispatch.h.inc"

namespace ingot::kernel {

/// Returns the type of the memory that holds a value of that type: rows, routes, a weight or a state. `kv` is the format
/// of a paged state. Returns null for other types.
mlir::Type memoryOf(mlir::Type value, KvFormat kv);

} // namespace ingot::kernel
