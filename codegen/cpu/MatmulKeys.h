//===- MatmulKeys.h - The head finds the largest logits -------------------===//
//
// In a greedy step nobody wants the logits: a projection whose results kernel.argmax alone takes keeps, of
// each row, the largest value it has seen in each of the 32 rows of a panel, and the panel,
//
//   scratch   per row of the batch:  i32 best[32]    the value, in the order of integers
//                                    i32 panel[32]
//
// and raises keys[row] once at its end, to the largest
//
//   key = (best ^ sign) << 32 | ~id        so that equal values go to the lower id
//
// NaN and the rows that pad the last panel never win; of nothing but NaN the id is 0, as for
// `argmax` of runtime/sample/Sampler.h.
//
// In other steps the logits are stored, and beside them the largest of each panel (kernel.panel_maxima): a sampler that wants the few largest of 262,144 logits reads 8,192 maxima and the
// panels that may hold one.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/MatmulTile.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::cpu {

class MatmulKeys {
  using Value = mlir::Value;

public:
  /// Bytes of scratch; 0 without keys.
  static int64_t scratchBytes(kernel::MatmulOp op);

  /// `scratch`: those bytes, aligned to 64. `n`: logits of a row.
  MatmulKeys(KernelBuilder &k, Value keys, Value scratch, int64_t n)
      : k(k), keys(keys), scratch(scratch), n(n) {}

  /// Before the first panel, for `rows` rows.
  void start(Value rows);
  /// `values`: of one row of the batch, those that `places` say of a panel. Returns the largest of
  /// them in the order of integers, the least i32 where there is none.
  Value fold(llvm::ArrayRef<Value> values, llvm::ArrayRef<TileRows> places, Value panel, Value row);
  /// After the last panel.
  void finish(Value rows);

private:
  Value bestAt(Value row);
  Value panelAt(Value row);
  Value ordered(Value v);

  KernelBuilder &k;
  Value keys, scratch;
  int64_t n;
};

/// The largest value of each panel, f32 [rows][panels rounded up to 32]; NaN and the rows that pad
/// the last panel aside, -inf where nothing is left.
class PanelMaxima {
  using Value = mlir::Value;

public:
  /// `maxima`: address of the first row. `n`: logits of a row.
  PanelMaxima(KernelBuilder &k, Value maxima, int64_t n) : k(k), maxima(maxima), n(n) {}

  /// `values`: of one row of the batch, those that `places` say of a panel.
  void store(llvm::ArrayRef<Value> values, llvm::ArrayRef<TileRows> places, Value panel, Value row);

private:
  KernelBuilder &k;
  Value maxima;
  int64_t n;
};

} // namespace ingot::cpu
