//===- Quantize.h - Writes 32 values of a quantised row -------------------===//
//
// A row of kind q8 (PanelLayout.h, Q8Row) is made of groups of 32 values that need
// nothing of each other: whoever has 32 consecutive values in registers can write its
// group: the epilogue of a matmul, a row-wise kernel, attention.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::cpu {

/// Quantises values 32*group … 32*group+31, given as registers in order (2 of 16 lanes or 4 of 8),
/// and writes every field of that group into the q8 row of `layout` at `row`.
void storeQuantizedGroup(KernelBuilder &k, llvm::ArrayRef<mlir::Value> values, mlir::Value row,
                         mlir::Value group, const Q8Row &layout);

/// The same group of several rows, of at most k.lanes. Their maxima and scales are found together.
void storeQuantizedGroups(KernelBuilder &k, llvm::ArrayRef<KernelBuilder::Values> values,
                          llvm::ArrayRef<mlir::Value> rows, mlir::Value group,
                          const Q8Row &layout);

/// The same for a q8x2 row, whose planes are laid out as `layout`.
void storeTwoPlanes(KernelBuilder &k, llvm::ArrayRef<mlir::Value> values, mlir::Value row,
                    mlir::Value group, const Q8Row &layout);

} // namespace ingot::cpu
