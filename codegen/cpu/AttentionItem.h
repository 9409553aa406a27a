//===- AttentionItem.h - What is asked of a work item of attention ---------===//
//
// One item is (tile of query tokens, KV head); its rows are the tile's tokens x the query
// heads of the group: row = token * group + head. Here is what the generators for floats
// (Attention.h) and for int8 (AttentionInt8.h) share: where an item begins, where its queries lie,
// and how finished rows are stored.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "dialects/kernel/ops/Attention.h"

namespace ingot::cpu {

/// Lower than any score, also in units of AttentionInt8.h; finite, so that differences are no NaN (see Attention.h).
constexpr double kNoScore = -1e30;

class AttentionItem {
protected:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  AttentionItem(KernelBuilder &k, kernel::AttentionOp op);

  /// body(block table of the item's sequence), with the fields below set.
  void forEachItem(llvm::function_ref<void(Value table)> body);
  /// body(row of the item, token, query head), for all rows
  void forEachRow(llvm::function_ref<void(Value row, Value token, Value queryHead)> body);
  /// Where the row of q of a token and query head lies, f32.
  Value queryAt(Value token, Value queryHead);
  /// What a row's softmax begins with: the largest score, times `unit`, and the sum of weights. They are a sink's, if
  /// there is one, whose weight is then `weight`; else `noScore` and zeros.
  struct Start {
    Value m, l;
  };
  Start startOf(Value queryHead, double noScore, double unit, double weight);
  /// First element of a vector of 16. The last one may overlap the one before: the same
  /// numbers are then computed twice, and no tail is masked.
  int64_t chunkStart(int64_t chunk) const {
    return headDim < kRowLanes ? 0 : std::min(chunk * kRowLanes, headDim - kRowLanes);
  }
  /// A finished row, in the output's kind of rows.
  void storeRow(Value token, Value queryHead, mlir::ValueRange y);
  /// Rows end in zeros up to a multiple of 32 (PanelLayout.h); the item of the last head writes
  /// them.
  void storePadding();

  KernelBuilder &k;
  kernel::AttentionOp op;
  const int64_t headDim, kvHeads, group, window;
  const int64_t chunks; ///< vectors of 16 that hold a row
  const mlir::VectorType f32x16, i32x16;
  Value head, firstToken, tokens, firstPosition; ///< of the item
};

} // namespace ingot::cpu
