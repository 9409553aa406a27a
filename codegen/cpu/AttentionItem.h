//===- AttentionItem.h - Common parts of attention work items --------------===//
//
// One item is (tile of query tokens, KV head). Its rows are the tile's tokens x the query heads of
// the group: row = token * group + head. This class holds the code that the generators for floats
// (Attention.h) and for int8 (AttentionInt8.h) share. This code finds an item, its queries and its
// pages, determines which positions it may see, and starts and finishes its rows.
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "dialects/kernel/ops/Attention.h"

namespace ingot::codegen::cpu {

/// Lower than any score, also in the units of AttentionInt8.h. It is finite, so differences of two are not NaN
/// (see Attention.h).
constexpr double kNoScore = -1e30;
constexpr double kLog2E = 1.44269504088896340736;

/// Positions of a block. Blocks start at multiples of it.
constexpr int64_t kAttentionBlock = 128;
constexpr int64_t kPagesOfBlock = kAttentionBlock / kPageTokens;

/// Offsets of the softmax state of all rows in an item's scratch memory, in bytes. All are f32.
struct AttentionState {
  int64_t o, l, m; ///< [rows][chunks*16], [rows][16], [rows + 16]
};

class AttentionItem {
protected:
  using Value = mlir::Value;
  using Values = KernelBuilder::Values;

  AttentionItem(KernelBuilder &k, kernel::AttentionOp op, const AttentionState &state);

  double softcap() { return op.getSoftcap().convertToFloat(); }
  /// Returns an address in the item's scratch memory.
  Value scratch(int64_t offset) { return k.at(k.scratch, offset); }
  Value scratch(int64_t offset, Value index, int64_t stride) {
    return k.at(scratch(offset), k.mul(index, stride));
  }
  Value oAt(Value row) { return scratch(state.o, row, chunks * kVectorBytes); }
  Value lAt(Value row) { return scratch(state.l, row, kVectorBytes); }
  Value mAt(Value row) { return scratch(state.m, row, 4); }

  /// Calls body() for each item, with the fields below set.
  void forEachItem(llvm::function_ref<void()> body);
  /// Calls body(row of the item, token, query head) for all rows of the item.
  void forEachRow(llvm::function_ref<void(Value row, Value token, Value queryHead)> body);
  /// Loads q of a token and query head as vectors of 16, f32.
  Values loadQuery(Value token, Value queryHead);
  /// Stores the initial state of a row: o, m (the largest score so far, times `unit`) and l (the sum of weights). o is
  /// 0. If the op has sinks, m is the sink's score and l is `weight`; otherwise m is kNoScore and l is 0.
  void startRow(Value row, Value queryHead, double unit, double weight);

  /// Returns the first position that some row of the item may see.
  Value firstSeenPosition();
  /// Calls body(index) for the blocks from `firstSeen` to lastPosition.
  void forEachBlock(Value firstSeen, llvm::function_ref<void(Value index)> body);
  /// Returns whether all rows of the item see all positions of the block, i1.
  Value seesAll(Value blockStart);
  /// Returns the lanes of `positions` up to `last` and, if there is a window, after `after()`. All are i32, and
  /// all may be relative to the same position.
  Value visible(Value positions, Value last, llvm::function_ref<Value()> after);

  /// Returns the address of the sequence's page number `index`.
  Value pageAt(Value index);
  /// Returns the number of bytes that the values and scales of a KV head's K or V take in a page.
  int64_t headBytes() { return format().valueBytes(headDim) * kPageTokens; }
  int64_t scaleBytes() { return format().scaleBytes(headDim) * kPageTokens; }
  // Addresses in a page, for the item's KV head.
  Value keysOf(Value page) { return k.at(page, k.mul(head, headBytes())); }
  Value valuesOf(Value page) { return k.at(keysOf(page), kvHeads * headBytes()); }
  Value scalesOfKeys(Value page) {
    return k.at(k.at(page, 2 * kvHeads * headBytes()), k.mul(head, scaleBytes()));
  }
  Value scalesOfValues(Value page) { return k.at(scalesOfKeys(page), kvHeads * scaleBytes()); }

  /// Returns the first element of a vector of 16. The last vector may overlap the one before it. The same values are
  /// then computed twice, so that no tail needs a mask.
  int64_t chunkStart(int64_t chunk) const {
    return headDim < kRowLanes ? 0 : std::min(chunk * kRowLanes, headDim - kRowLanes);
  }
  /// Stores y = o / l of all rows in the encoding of the output, and the zeros that pad rows to a multiple of 32
  /// (PanelLayout.h). `order` brings the vectors of a row into the order of its elements.
  void finishRows(llvm::function_ref<void(Values &y)> order = nullptr);

  KernelBuilder &k;
  kernel::AttentionOp op;
  const int64_t headDim, kvHeads, group, window;
  const int64_t chunks; ///< vectors of 16 that hold a row
  const mlir::VectorType f32x16, i32x16;
  Value table;                                   ///< block table of the item's sequence
  Value head, firstToken, tokens, firstPosition; ///< of the item
  Value lastPosition, firstPage, lastPage;       ///< of the item, set by the generators

private:
  const KvFormatInfo &format() { return op.getKv().getType().info(); }
  void storeRow(Value token, Value queryHead, mlir::ValueRange y);
  /// Writes the zeros after the rows. Only the item of the last head does so.
  void storePadding();

  const AttentionState state;
};

} // namespace ingot::codegen::cpu
