//===- GridCodes.h - Numbers that a grid names -------------------------------===//
//
// Of a format with a grid (Grids.h) PanelCodes asks here for a step's numbers. There are two ways to them.
//
//   gathers      a lane's index reads its entry from a table in memory; of eight magnitudes the halves of each byte are
//                those of two steps. Every level can do this.
//   permutes     AVX-512 VBMI: vpermi2b looks up 64 indexes in 128 bytes at once, and wider grids are joined by masks.
//                A table's byte holds four magnitudes of two bits, or two of three; vpmultishiftqb parts them. A sign is
//                put below the magnitude, and vpermb makes numbers of both.
//
// An index of 11 bits takes 32 permutes for 64 of them, a gather for 16: there gathers are as fast.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/MatmulTile.h"

#include <map>
#include <tuple>

namespace ingot::cpu {

class GridCodes {
  using Value = mlir::Value;

public:
  GridCodes(KernelBuilder &k, const PanelLayout &layout)
      : k(k), layout(layout), format(numericFormat(layout.format)), grid(*format.grid),
        bytes(k.vec(k.i8, 4 * k.lanes)) {}

  /// Whether a level permutes.
  static bool permutes(const Grid &grid, const Isa &isa) {
    return isa.vbmi && !isa.writtenOut && grid.indexBits < 11;
  }

  /// q of step s of a group, as u8. What steps share is made once, where the first of them asks.
  Value load(const TileRows &rows, const GroupPlace &group, int s);

private:
  enum class Part : uint8_t { Entry, Planes, Line, RunSigns, GroupSign, Mask, Turned };
  using Key = std::tuple<const void *, int64_t, Part, int64_t>;
  /// What `make` makes, once for these rows, group and number.
  Value shared(const TileRows &rows, const GroupPlace &group, Part part, int64_t number,
               llvm::function_ref<Value()> make);

  int64_t runOf(int s) const { return s * 4 / grid.run; }
  Value lineAt(const TileRows &rows, const GroupPlace &group, int64_t line);
  Value maskAt(const TileRows &rows, const GroupPlace &group, int64_t index, int64_t line);

  // Gathers.
  Value gathered(const TileRows &rows, const GroupPlace &group, int s);
  Value entry(const TileRows &rows, const GroupPlace &group, int64_t run);
  Value maskBits(const TileRows &rows, const GroupPlace &group, int64_t index, int64_t run);

  // Permutes.
  Value permuted(const TileRows &rows, const GroupPlace &group, int s);
  Value magnitudes(const TileRows &rows, const GroupPlace &group, int64_t line, int plane);
  Value pairedMagnitudes(const TileRows &rows, const GroupPlace &group, int64_t line, int half);
  Value lookUp(Value index, llvm::ArrayRef<uint8_t> table, llvm::ArrayRef<Value> masks);
  Value multishift(Value line, llvm::ArrayRef<int> offsets);
  Value constant(llvm::ArrayRef<uint8_t> bytes);
  Value signs(const TileRows &rows, const GroupPlace &group, int s, int &bit);

  Value groupSign(const TileRows &rows, const GroupPlace &group);

  KernelBuilder &k;
  const PanelLayout &layout;
  const NumericFormat &format;
  const Grid &grid;
  const mlir::VectorType bytes;
  std::map<Key, Value> made;
};

} // namespace ingot::cpu
