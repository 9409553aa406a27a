//===- MatmulTile.h - A register tile of a matmul -------------------------===//
//
//              tokens ──▶
//             t0  t1  t2  t3  t4  t5
//   rows  v0  ▢   ▢   ▢   ▢   ▢   ▢      each ▢ is one register of f32 sums: a row per lane
//    │    v1  ▢   ▢   ▢   ▢   ▢   ▢
//    ▼
//
// A main loop walks K once and returns the sums, at index t * vectors + v. The result for one
// row and token does not depend on the tile, so a token's bits are batch-invariant. There are
// four main loops:
//
//   fast    q8 rows:  exact int32 dot per group of 32, one f32 fma per group, in K order
//           q8x2:     the same, with the dot products of both planes in one integer
//   exact   f32 rows: the weight de-quantised as in NumericFormat.h, one fma per k
//   float   f32 rows, float weights: one fma per k; or vdpbf16ps per pair of k; or sums that AMX
//           has computed for all tokens of a block
//   fp8     f32 rows, E4M3 weights with scales: the weight as in NumericFormat.h, one fma per k
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::codegen::cpu {

/// Where the rows of one register are: consecutive rows of the panel at `panel`, beginning with
/// `row` + `part`.
struct TileRows {
  mlir::Value panel;
  int64_t row;
  mlir::Value part; ///< a run-time row offset; null: 0

  /// Returns the address of the first row, where rows begin at `base` in the panel and are `stride` bytes apart.
  mlir::Value at(KernelBuilder &k, mlir::Value base, int64_t stride) const {
    mlir::Value from = k.at(base, row * stride);
    return part ? k.at(from, k.mul(part, stride)) : from;
  }
  /// Loads a byte for each row of the register: entry `index` of the array at `offset` of a block. An entry has a byte
  /// for each row of the panel.
  mlir::Value loadBytes(KernelBuilder &k, mlir::Value block, int64_t offset,
                        mlir::Value index) const {
    mlir::Value from = k.at(k.at(block, k.mul(index, kPanelRows)), offset);
    return k.load(k.vec(k.i8, k.lanes), at(k, from, 1), k.lanes);
  }
};

/// The place of a group: 32 k of a panel.
struct GroupPlace {
  mlir::Value block;   ///< address of its block
  mlir::Value inBlock; ///< index of the group in its block
  mlir::Value codes;   ///< address of its codes
};

struct Tile {
  llvm::SmallVector<TileRows> vectors;
  int tokens;
  mlir::Value x; ///< the row of the first token
  int64_t xRowBytes;
  bool bf16Dot = false; ///< x is rows of bf16, for vdpbf16ps or AMX
  mlir::Value
      amxSums; ///< f32 [tokens][32 rows], the result of the main loop (emitAmxSums). Null: none
  int64_t prefetch; ///< prefetch distance in the weight stream, in bytes; 0: no prefetching
  /// The part of the next panel that this tile prefetches to the second-level cache: `nextLines`
  /// lines for each group of K, starting at `next`. Null: none.
  mlir::Value next;
  int64_t nextLines = 0;
  mlir::Value
      unpacked; ///< the panel of `vectors`, unpacked (PanelGroup.h). Null: the packed panel is read
  int planes = 1; ///< x is the sum of this many consecutive q8 rows (2: q8x2)
  /// f32 [tokens][groups], rows `slackBytes` apart, in units of a dot: each dot is moved by this
  /// amount towards the larger sum (MatmulCandidates.h). Null: none.
  mlir::Value slack;
  int64_t slackBytes = 0;
  size_t sums() const { return vectors.size() * tokens; }

  /// Prefetches data that follows the `bytes` at `place` in a stream of weights. By default it prefetches one
  /// line. The CPU's prefetchers follow the stream of a panel, but not into the next page. The prefetched line
  /// loads the address translation of that page and starts its stream in time. If the runtime measures that this
  /// is faster (ReadAhead.h), it prefetches each line instead.
  void prefetchBehind(KernelBuilder &k, mlir::Value place, int64_t bytes) const {
    if (!prefetch)
      return;
    auto first = [&] { return k.prefetchL2(k.at(place, prefetch)), KernelBuilder::Values(); };
    k.choose(
        readsEachLine(k), [&] { return prefetchLines(k, place, bytes), KernelBuilder::Values(); },
        first);
  }
  mlir::Value readsEachLine(KernelBuilder &k) const { return k.less(k.word(0), k.ahead); }
  void prefetchLines(KernelBuilder &k, mlir::Value place, int64_t bytes) const {
    for (int64_t line = 0; line < bytes; line += 64)
      k.prefetchL2(k.at(k.at(place, k.ahead), line));
  }
};

/// Emits the main loop for weights of any format with integer codes, and x in q8 or q8x2.
KernelBuilder::Values emitFastLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// Emits the main loop for weights of any format with integer codes, and x in f32.
KernelBuilder::Values emitExactLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// Float weights; x in f32.
KernelBuilder::Values emitFloatLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// Scaled floats (fp8); x in f32.
KernelBuilder::Values emitFp8Loop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// bf16 weights; x in rows of bf16 (from emitRoundRows); uses vdpbf16ps.
KernelBuilder::Values emitBf16DotLoop(KernelBuilder &k, const Tile &tile,
                                      const PanelLayout &layout);

/// Returns the values with even or odd k of words that hold two bf16, as f32.
mlir::Value numberOfPair(KernelBuilder &k, mlir::Value pairs, int64_t odd);

/// Rounds `count` f32 rows of `columns` values to bf16 rows, bf16RowBytes apart.
void emitRoundRows(KernelBuilder &k, mlir::Value from, mlir::Value to, mlir::Value count,
                   int64_t columns);
/// Returns the distance in bytes from one row of bf16 to the next. AMX loads 16 rows at once, so its rows have one more
/// cache line. Otherwise rows with a power-of-two length would compete for the same sets of the cache.
constexpr int64_t bf16RowBytes(const Isa &isa, int64_t columns) {
  return roundUp(columns * 2, 64) + (isa.amx ? 64 : 0);
}

//===--- AMX (MatmulAmx.cpp) ------------------------------------------------===//

/// Configures the tile registers for blocks of `count` tokens. `at`: 64 bytes for the configuration. emitAmxSums
/// may be called between this and emitTileRelease.
void emitTileConfig(KernelBuilder &k, mlir::Value count, mlir::Value at);
void emitTileRelease(KernelBuilder &k);
/// Computes the sums of `count` tokens, starting with the one at `tile.x`, for the panel of `tile.vectors`. `to` is
/// f32 [tokens][32 rows]; x and `to` have room for a multiple of 16 tokens. The surplus tokens may have any values.
void emitAmxSums(KernelBuilder &k, const Tile &tile, const PanelLayout &layout, mlir::Value count,
                 mlir::Value to);

} // namespace ingot::codegen::cpu
