//===- Quantize.h - Writes 32 values of a quantised row -------------------===//
//
// A q8 row (PanelLayout.h, Q8Row) consists of groups of 32 values that are independent
// of each other. Code that has 32 consecutive values in registers can therefore write
// their group: the epilogue of a matmul, a row-wise kernel, attention.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::codegen::cpu {

/// Quantises values 32*group … 32*group+31, given as registers in order (2 of 16 lanes or 4 of 8),
/// and writes every field of that group into the q8 row of `layout` at `row`.
void storeQuantizedGroup(KernelBuilder &k, llvm::ArrayRef<mlir::Value> values, mlir::Value row,
                         mlir::Value group, const Q8Row &layout);

/// Writes the same group of several rows. Maxima and scales are computed together for as many rows as
/// a register has lanes.
void storeQuantizedGroups(KernelBuilder &k, llvm::ArrayRef<KernelBuilder::Values> values,
                          llvm::ArrayRef<mlir::Value> rows, mlir::Value group, const Q8Row &layout);

/// Quantises the values of a group and writes them into a q8x2 row. `layout` is the layout of the row's planes.
void storeTwoPlanes(KernelBuilder &k, llvm::ArrayRef<mlir::Value> values, mlir::Value row,
                    mlir::Value group, const Q8Row &layout);

/// Rounds 16 f32 to the nearest i32, ties to even. Values that do not fit, and NaN, become the least i32.
mlir::Value roundToIntegers(KernelBuilder &k, mlir::Value sixteen);

/// A vector quantised with one scale.
struct QuantizedVector {
  KernelBuilder::Values codes; ///< -most … most as 16 x i32 each
  mlir::Value scale;           ///< f32, largest magnitude / most
};

/// Quantises values given as vectors of 16 f32. `most` is the largest code. If the scale is below
/// `least`, it becomes `least` and the codes become 0. If `least` is 0, codes are 0 if `most` / the
/// largest magnitude is infinite.
QuantizedVector quantizeVector(KernelBuilder &k, llvm::ArrayRef<mlir::Value> sixteens, double least,
                               double most = 127);

/// Rounds four registers of f32 (given as vectors of 16) to the nearest integers as u8, 0 … 255. vpack*
/// work in parts of 16 bytes: the four bytes of values n … n+3 form a dword, and dwords are in the
/// order of packedDword.
mlir::Value roundToBytes(KernelBuilder &k, llvm::ArrayRef<mlir::Value> sixteens);
/// Returns the index of the dword that holds values first … first+3 (`first` a multiple of 4) in the
/// result of roundToBytes.
constexpr int64_t packedDword(int64_t first, int64_t lanes) {
  return first % lanes / 4 * 4 + first / lanes;
}

} // namespace ingot::codegen::cpu
