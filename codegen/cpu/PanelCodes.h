//===- PanelCodes.h - Unpacks the codes and scales of a weight panel -------===//
//
// PanelLayout.h puts four consecutive k of a row into a 32-bit lane; WeightPlace.h says in which
// line and bits. This makes, for one register of rows and a step s (k = 4s … 4s+3 of a group), a
// register of unsigned bytes: q of NumericFormat.h. x86 shifts no bytes: words are shifted, and what
// crossed a byte is masked away. A format with a table has one more instruction, vpshufb. Indexes of grids are
// GridCodes.h's affair.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/GridCodes.h"

namespace ingot::cpu {

constexpr int kStepsOfGroup = 8; ///< of 4 values of K

class PanelCodes {
public:
  PanelCodes(KernelBuilder &k, const PanelLayout &layout)
      : k(k), layout(layout), format(numericFormat(layout.format)), bits(format.bits),
        bytes(k.vec(k.i8, 4 * k.lanes)) {
    if (format.grid)
      grid.emplace(k, layout);
  }

  /// Group `inBlock` of the block at `block`.
  GroupPlace group(mlir::Value block, mlir::Value inBlock);

  /// The order in which steps are cheapest: what a line holds one after the other.
  static int step(const NumericFormat &format, int i) {
    return format.packing == NumericFormat::Packing::Planes && lowBitsOf(format.bits) == 4
               ? i / 2 + i % 2 * 4
               : i;
  }

  /// q of step s of a group, as u8. Call it for the second part of a line only when the first one has
  /// been used: the code generator keeps the order, and registers are few.
  mlir::Value load(const TileRows &rows, const GroupPlace &group, int s);
  /// q - 128 of the same, as s8: of formats whose zero point is 128, or of 8 bits. `codes`: of planes, where they
  /// begin.
  mlir::Value loadSigned(const TileRows &rows, mlir::Value codes, int s);

  /// Scales of rows that lie `offset` bytes behind `block`, as f32.
  mlir::Value scales(const TileRows &rows, mlir::Value block, int64_t offset,
                     NumericFormat::Scale stored);

  /// Sub-scales (or sub-minimums) of a group that lie from `offset` on, as i32: signed where there is no minimum. Of
  /// groups of 16 those of its first or its second half.
  mlir::Value subScales(const TileRows &rows, mlir::Value block, int64_t offset,
                        mlir::Value inBlock, int half);

  /// Number `index` of each row's E4M3 sub-scales, which lie from `offset` on, as f32.
  mlir::Value floatSubScales(const TileRows &rows, mlir::Value block, int64_t offset,
                             mlir::Value index);

private:
  mlir::Value codes(const TileRows &rows, mlir::Value group, int s);
  mlir::Value digits(const TileRows &rows, const GroupPlace &group, int number);
  mlir::Value trits(const TileRows &rows, const GroupPlace &group, int s);
  mlir::Value line(const TileRows &rows, mlir::Value group, int64_t index);
  /// Bits of `line` moved up by `by` (down if negative), under a mask for bytes.
  mlir::Value moved(mlir::Value line, int by, int mask);

  KernelBuilder &k;
  const PanelLayout &layout;
  const NumericFormat &format;
  int bits;
  mlir::VectorType bytes;
  std::optional<GridCodes> grid;
  std::map<std::tuple<const void *, int64_t, int>, mlir::Value> digitsOf; ///< what steps share
};

} // namespace ingot::cpu
