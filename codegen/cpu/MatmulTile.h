//===- MatmulTile.h - A register tile of a matmul -------------------------===//
//
//              tokens ──▶
//             t0  t1  t2  t3  t4  t5
//   rows  v0  ▢   ▢   ▢   ▢   ▢   ▢      each ▢ is one register of f32 sums: a row per lane
//    │    v1  ▢   ▢   ▢   ▢   ▢   ▢
//    ▼
//
// A main loop walks K once and returns the sums, index t * vectors + v. What it computes for
// one row and token does not depend on the tile: that is what makes a token's bits the
// same in every batch. There are four main loops:
//
//   fast    q8 rows:  exact int32 dot per group of 32, one f32 fma per group, in K order
//           q8x2:     the same with dots of both planes in one integer
//   exact   f32 rows: the weight de-quantised as NumericFormat.h says, one fma per k
//   float   f32 rows, float weights: one fma per k; or vdpbf16ps per pair of k
//   fp8     f32 rows, E4M3 weights with scales: the weight as NumericFormat.h says, one fma per k
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/KernelBuilder.h"

namespace ingot::cpu {

/// Where the rows of one register lie: `row` + `part` of the panel at `panel`.
struct TileRows {
  mlir::Value panel;
  int64_t row;
  mlir::Value part; ///< a run-time row offset; null: 0

  /// The address, from `base` inside the panel, of rows that are `stride` bytes apart.
  mlir::Value at(KernelBuilder &k, mlir::Value base, int64_t stride) const {
    mlir::Value from = k.at(base, row * stride);
    return part ? k.at(from, k.mul(part, stride)) : from;
  }
};

/// 32 k of a panel.
struct GroupPlace {
  mlir::Value block;   ///< address of the block that it is of
  mlir::Value inBlock; ///< the how manieth of it
  mlir::Value codes;   ///< address of its codes
};

struct Tile {
  llvm::SmallVector<TileRows> vectors;
  int tokens;
  mlir::Value x; ///< the row of the first token
  int64_t xRowBytes;
  bool bf16Dot = false; ///< x is rows of bf16, for vdpbf16ps
  int64_t prefetch; ///< how many bytes ahead in the weight stream a line is asked for; 0: none is
  /// The share of the panel that comes next which this tile brings to the second-level cache:
  /// `nextLines` lines for each group of K, from `next` on. Null: none.
  mlir::Value next;
  int64_t nextLines = 0;
  mlir::Value
      unpacked;   ///< the panel of `vectors`, unpacked (PanelGroup.h). Null: it is read as it is
  int planes = 1; ///< q8 rows behind each other that x is the sum of (2: q8x2)
  /// f32 [tokens][groups], `slackBytes` apart, in units of a dot: each dot is moved by so much
  /// towards the larger sum (MatmulScreen.h). Null: none.
  mlir::Value slack;
  int64_t slackBytes = 0;
  size_t sums() const { return vectors.size() * tokens; }

  /// Asks for what comes later of the `bytes` at `place` of a stream of weights. Either for its first line: the CPU's
  /// prefetchers follow the stream of a panel, but not into the next page, so that its page is known and its stream has
  /// begun by then. Or, where the runtime finds that this is faster (ReadAhead.h), for each line.
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

/// Weights of any format with integer codes, x of kind q8 or q8x2.
KernelBuilder::Values emitFastLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// Weights of any format with integer codes, x of kind f32.
KernelBuilder::Values emitExactLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// Float weights, x of kind f32.
KernelBuilder::Values emitFloatLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// Scaled floats (fp8), x of kind f32.
KernelBuilder::Values emitFp8Loop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout);
/// bf16 weights, x rows of bf16 (as emitRoundRows leaves them), vdpbf16ps.
KernelBuilder::Values emitBf16DotLoop(KernelBuilder &k, const Tile &tile,
                                      const PanelLayout &layout);

/// Rounds `count` f32 rows of `columns` values to bf16 rows, bf16RowBytes(columns) apart.
void emitRoundRows(KernelBuilder &k, mlir::Value from, mlir::Value to, mlir::Value count,
                   int64_t columns);
constexpr int64_t bf16RowBytes(int64_t columns) { return roundUp(columns * 2, 64); }

} // namespace ingot::cpu
