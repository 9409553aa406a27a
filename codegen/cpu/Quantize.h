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

/// The same group of several rows. Maxima and scales of as many as there are lanes are found
/// together.
void storeQuantizedGroups(KernelBuilder &k, llvm::ArrayRef<KernelBuilder::Values> values,
                          llvm::ArrayRef<mlir::Value> rows, mlir::Value group, const Q8Row &layout);

/// The same for a q8x2 row, whose planes are laid out as `layout`.
void storeTwoPlanes(KernelBuilder &k, llvm::ArrayRef<mlir::Value> values, mlir::Value row,
                    mlir::Value group, const Q8Row &layout);

/// 16 f32 to the nearest i32, ties to even; what does not fit (and NaN) becomes the least i32.
mlir::Value roundToIntegers(KernelBuilder &k, mlir::Value sixteen);

/// A vector under one scale.
struct QuantizedVector {
  KernelBuilder::Values codes; ///< -most … most as 16 x i32 each
  mlir::Value scale;           ///< f32, largest magnitude / most
};

/// Quantises values given as vectors of 16 f32; A scale below `least` is
/// replaced by it, and the codes by 0 (`least` 0: where most / the largest magnitude is infinite).
/// `most`: the largest code.
QuantizedVector quantizeVector(KernelBuilder &k, llvm::ArrayRef<mlir::Value> sixteens, double least,
                               double most = 127);

/// Four registers of f32 (given as vectors of 16) to the nearest integers as u8, 0 … 255. vpack*
/// work in parts of 16 bytes: the four bytes of values n … n+3 are a dword, dwords in the order of
/// packedDword.
mlir::Value roundToBytes(KernelBuilder &k, llvm::ArrayRef<mlir::Value> sixteens);
/// Where four bytes lie in what roundToBytes returns, for values from `first` (a multiple of 4) on.
constexpr int64_t packedDword(int64_t first, int64_t lanes) {
  return first % lanes / 4 * 4 + first / lanes;
}

} // namespace ingot::cpu
