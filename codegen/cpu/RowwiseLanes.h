//===- RowwiseLanes.h - Sixteen lanes at every level ----------------------===//
//
// Kernels that reduce over a row hold it as vectors of 16 f32 at every ISA level (two
// registers with AVX2), so the order of their sums, and their bits, are always the same.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::codegen::cpu {

constexpr int64_t kRowLanes = 16;
constexpr int64_t kVectorBytes = kRowLanes * 4;

/// Returns a constant mask of the first `count` of 16 lanes.
mlir::Value firstLanesMask(KernelBuilder &k, int64_t count);

/// Returns `v` in the first `count` lanes, 0 in the others.
mlir::Value firstLanes(KernelBuilder &k, mlir::Value v, int64_t count);

/// Loads the first `count` of 16 elements at `from`, with 0 in the other lanes. Reads nothing else.
mlir::Value loadFirst(KernelBuilder &k, mlir::Type element, mlir::Value from, int64_t count);

/// Stores the first `count` of 16 lanes.
void storeFirst(KernelBuilder &k, mlir::Value v, mlir::Value to, int64_t count);

/// Splits vectors of 16 into registers of the ISA level, in order.
KernelBuilder::Values registersOf(KernelBuilder &k, mlir::ValueRange sixteens);

/// Mean in the order of a row_stat: 16 partial sums, then the halving tree.
mlir::Value meanOf(KernelBuilder &k, mlir::ValueRange sixteens, int64_t n);
mlir::Value meanOfSquares(KernelBuilder &k, mlir::ValueRange sixteens, int64_t n);

/// vector.shuffle of two vectors.
mlir::Value shuffle(KernelBuilder &k, mlir::Value a, mlir::Value c, llvm::ArrayRef<int64_t> lanes);

} // namespace ingot::codegen::cpu
