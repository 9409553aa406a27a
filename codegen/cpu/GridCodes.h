//===- GridCodes.h - Decodes the numbers of a grid format --------------------===//
//
// PanelCodes uses this class to load a step's values if the format has a grid (Grids.h). There are two ways.
//
//   gathers      Each lane loads the entry of its index from a table in memory. If a run has eight magnitudes, the
//                two halves of each byte belong to two steps. Every ISA level can do this.
//   permutes     AVX-512 VBMI: vpermi2b looks up 64 indexes in 128 bytes at once; masks join the results for larger
//                grids. A byte of the table holds four magnitudes of two bits, or two of three; vpmultishiftqb
//                separates them. The sign is put below the magnitude, and vpermb maps both to a value.
//
// With indexes of 11 bits, 64 look-ups take 32 permutes or 4 gathers. Permutes are no faster in this case.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/MatmulTile.h"

#include <map>
#include <tuple>

namespace ingot::codegen::cpu {

class GridCodes {
  using Value = mlir::Value;

public:
  GridCodes(KernelBuilder &k, const PanelLayout &layout)
      : k(k), layout(layout), format(numericFormat(layout.format)), grid(*format.grid),
        bytes(k.vec(k.i8, 4 * k.lanes)) {}

  /// Returns whether an ISA level uses permutes.
  static bool permutes(const Grid &grid, const Isa &isa) {
    return isa.vbmi && !isa.emulated && grid.indexBits < 11;
  }

  /// Returns q of step s of a group, as u8. Values that steps share are emitted once, for the first step that
  /// needs them.
  Value load(const TileRows &rows, const GroupPlace &group, int s);

private:
  enum class Part : uint8_t { Entry, Planes, Line, RunSigns, GroupSign, Mask, Turned };
  using Key = std::tuple<const void *, int64_t, Part, int64_t>;
  /// Returns the value that `make` emits, emitting it once for these rows, group and number.
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
  Value signs(const TileRows &rows, const GroupPlace &group, int s, int &bit);

  Value groupSign(const TileRows &rows, const GroupPlace &group);

  KernelBuilder &k;
  const PanelLayout &layout;
  const NumericFormat &format;
  const Grid &grid;
  const mlir::VectorType bytes;
  std::map<Key, Value> made;
};

} // namespace ingot::codegen::cpu
