//===- PanelCodes.h - Unpacks the codes and scales of a weight panel -------===//
//
// PanelLayout.h puts four consecutive k of a row into a 32-bit lane; WeightPlace.h says which line and
// which bits. For one register of rows and a step s (k = 4s … 4s+3 of a group), this class makes a
// register of unsigned bytes: q of NumericFormat.h. x86 has no shifts of bytes, so words are shifted and
// the bits that crossed a byte are masked away. A format with a table takes one more instruction, vpshufb.
// GridCodes.h handles the indexes of grids.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/GridCodes.h"

namespace ingot::codegen::cpu {

constexpr int kStepsOfGroup = 8; ///< steps of 4 values of K

class PanelCodes {
public:
  PanelCodes(KernelBuilder &k, const PanelLayout &layout)
      : k(k), layout(layout), format(numericFormat(layout.format)), bits(format.bits),
        bytes(k.vec(k.i8, 4 * k.lanes)) {
    if (format.grid)
      grid.emplace(k, layout);
  }

  /// Returns the place of the group with index `inBlock` in the block at `block`.
  GroupPlace group(mlir::Value block, mlir::Value inBlock);

  /// Returns the i-th step in the cheapest order, in which steps that share a line follow each other.
  static int step(const NumericFormat &format, int i) {
    return format.packing == NumericFormat::Packing::Planes && lowBitsOf(format.bits) == 4
               ? i / 2 + i % 2 * 4
               : i;
  }

  /// Returns q of step s of a group, as u8. Call it for the second part of a line only after the first part
  /// has been used: LLVM's code generator keeps this order, and registers are scarce.
  mlir::Value load(const TileRows &rows, const GroupPlace &group, int s);
  /// Returns q - 128 of a step as s8, for formats of 8 bits or with a zero point of 128. `codes` is the start of
  /// the group's planes.
  mlir::Value loadSigned(const TileRows &rows, mlir::Value codes, int s);

  /// Loads the rows' scales at `block` + `offset`, as f32.
  mlir::Value scales(const TileRows &rows, mlir::Value block, int64_t offset,
                     NumericFormat::Scale stored);

  /// Loads sub-scales (or sub-minimums) of a group from the array at `offset`, as i32: signed if the format has no
  /// minimum. For formats with groups of 16, `half` selects the first or the second half of the 32.
  mlir::Value subScales(const TileRows &rows, mlir::Value block, int64_t offset,
                        mlir::Value inBlock, int half);

  /// Loads sub-scale `index` of each row from the array of E4M3 sub-scales at `offset`, as f32.
  mlir::Value floatSubScales(const TileRows &rows, mlir::Value block, int64_t offset,
                             mlir::Value index);

private:
  mlir::Value codes(const TileRows &rows, mlir::Value group, int s);
  mlir::Value digits(const TileRows &rows, const GroupPlace &group, int number);
  mlir::Value trits(const TileRows &rows, const GroupPlace &group, int s);
  mlir::Value line(const TileRows &rows, mlir::Value group, int64_t index);
  /// Shifts `line` left by `by` bits (right if negative) and masks each byte with `mask`.
  mlir::Value moved(mlir::Value line, int by, int mask);

  KernelBuilder &k;
  const PanelLayout &layout;
  const NumericFormat &format;
  int bits;
  mlir::VectorType bytes;
  std::optional<GridCodes> grid;
  std::map<std::tuple<const void *, int64_t, int>, mlir::Value>
      digitsOf; ///< digits that steps share
};

} // namespace ingot::codegen::cpu
