//===- AttentionItem.h - Common parts of attention work items --------------===//
//
// One item is (tile of query tokens, KV head). Its rows are the tile's tokens x the query heads of
// the group: row = token * group + head. This class holds the code that the generators for floats
// (Attention.h) and for int8 (AttentionInt8.h) share: it finds an item and its queries, and stores
// finished rows.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "dialects/kernel/ops/Attention.h"

namespace ingot::cpu {

/// Lower than any score, also in the units of AttentionInt8.h. It is finite, so differences of two are not NaN
/// (see Attention.h).
constexpr double kNoScore = -1e30;

class AttentionItem {
protected:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  AttentionItem(KernelBuilder &k, kernel::AttentionOp op);

  /// Calls body(block table of the item's sequence) for each item, with the fields below set.
  void forEachItem(llvm::function_ref<void(Value table)> body);
  /// Calls body(row of the item, token, query head) for all rows of the item.
  void forEachRow(llvm::function_ref<void(Value row, Value token, Value queryHead)> body);
  /// Returns the address of q for a token and query head, f32.
  Value queryAt(Value token, Value queryHead);
  /// The initial state of a row's softmax: the largest score, times `unit`, and the sum of weights. If the op has
  /// sinks, they are the sink's score and `weight`, else `noScore` and zeros.
  struct Start {
    Value m, l;
  };
  Start startOf(Value queryHead, double noScore, double unit, double weight);
  /// Returns the first element of a vector of 16. The last vector may overlap the one before it: the
  /// same numbers are then computed twice, and no tail needs a mask.
  int64_t chunkStart(int64_t chunk) const {
    return headDim < kRowLanes ? 0 : std::min(chunk * kRowLanes, headDim - kRowLanes);
  }
  /// Stores a finished row in the encoding of the output.
  void storeRow(Value token, Value queryHead, mlir::ValueRange y);
  /// Writes the zeros that pad rows to a multiple of 32 (PanelLayout.h). Only the item of the last
  /// head does so.
  void storePadding();

  KernelBuilder &k;
  kernel::AttentionOp op;
  const int64_t headDim, kvHeads, group, window;
  const int64_t chunks; ///< vectors of 16 that hold a row
  const mlir::VectorType f32x16, i32x16;
  Value head, firstToken, tokens, firstPosition; ///< of the item
};

} // namespace ingot::cpu
