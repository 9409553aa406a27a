//===- MatmulKeys.h - Largest logits, found by the output head ------------===//
//
// A greedy step does not need the logits. A projection that has kernel.argmax as its only consumer keeps, for each row
// of the batch and each of the 32 rows of a panel, the largest value that it has seen and its panel,
//
//   scratch   per row of the batch:  i32 best[32]    the value, in the order of integers
//                                    i32 panel[32]
//
// and raises keys[row] once at the end, to the largest
//
//   key = (best ^ sign) << 32 | ~id        among equal values the lower id wins
//
// NaN and the rows that pad the last panel never win. If all logits are NaN, the id is 0, as for
// `argmax` of runtime/sample/Sampler.h.
//
// Other steps store the logits, and also the largest logit of each panel (kernel.panel_maxima). A sampler that needs
// the few largest of 262,144 logits then reads 8,192 maxima and only the panels that may hold one of them.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/MatmulTile.h"

namespace ingot::kernel {
class MatmulOp;
}

namespace ingot::codegen::cpu {

class MatmulKeys {
  using Value = mlir::Value;

public:
  /// Returns the size in bytes of scratch; 0 if the op raises no keys.
  static int64_t scratchBytes(kernel::MatmulOp op);

  /// `scratch` has scratchBytes(), aligned to 64. `n`: logits of a row.
  MatmulKeys(KernelBuilder &k, Value keys, Value scratch, int64_t n)
      : k(k), keys(keys), scratch(scratch), n(n) {}

  /// Initialises the scratch for `rows` rows, before the first panel.
  void start(Value rows);
  /// Folds in values of one row of the batch; `places` are their rows in the panel. Returns the largest
  /// in integer order, or the least i32 if there is none.
  Value fold(llvm::ArrayRef<Value> values, llvm::ArrayRef<TileRows> places, Value panel, Value row);
  /// Raises the keys, after the last panel.
  void finish(Value rows);

private:
  Value bestAt(Value row);
  Value panelAt(Value row);
  Value ordered(Value v);

  KernelBuilder &k;
  Value keys, scratch;
  int64_t n;
};

/// Stores the largest value of each panel, f32 [rows][panels rounded up to 32]. NaN and the rows that
/// pad the last panel are ignored; a panel without any other value has -inf.
class PanelMaxima {
  using Value = mlir::Value;

public:
  /// `maxima`: address of the first row. `n`: logits of a row.
  PanelMaxima(KernelBuilder &k, Value maxima, int64_t n) : k(k), maxima(maxima), n(n) {}

  /// `values`: values of one row of the batch; `places`: their rows in the panel.
  void store(llvm::ArrayRef<Value> values, llvm::ArrayRef<TileRows> places, Value panel, Value row);

private:
  KernelBuilder &k;
  Value maxima;
  int64_t n;
};

} // namespace ingot::codegen::cpu
