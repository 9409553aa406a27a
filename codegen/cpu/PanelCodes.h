//===- PanelCodes.h - Unpacks the codes of a weight panel -----------------===//
//
// PanelLayout.h puts four consecutive k of a row into a 32-bit lane; WeightPlace.h says in which
// line and bits. This makes, for one register of rows and a step s (k = 4s … 4s+3 of a group), a
// register of unsigned bytes. x86 shifts no bytes: words are shifted, and what crossed a byte is
// masked away.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/MatmulTile.h"

namespace ingot::cpu {

constexpr int kStepsOfGroup = 8; ///< of 4 values of K

class PanelCodes {
public:
  PanelCodes(KernelBuilder &k, int bits) : k(k), bits(bits), bytes(k.vec(k.i8, 4 * k.lanes)) {}

  /// The order in which steps are cheapest: both nibbles of a line one after the other.
  static int step(int bits, int i) { return bits == 8 ? i : i / 2 + i % 2 * 4; }

  /// Codes of step s of the group whose code lines start at `group`, as u8. Call it for the second
  /// nibble only when the first one has been used: the code generator keeps the order, and
  /// registers are few.
  mlir::Value load(const TileRows &rows, mlir::Value group, int s);

private:
  mlir::Value line(const TileRows &rows, mlir::Value group, int64_t index);
  /// Bits of `line` moved up by `by` (down if negative), under a mask for bytes.
  mlir::Value moved(mlir::Value line, int by, int mask);

  KernelBuilder &k;
  int bits;
  mlir::VectorType bytes;
};

} // namespace ingot::cpu
