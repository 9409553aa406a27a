//===- MatmulFp8.cpp - E4M3 weights times f32 rows ------------------------===//
//
// One chain per output, as for float weights: acc = fma(s * e4m3(q), x[k], acc), k = 0, 1, 2, …
// `fast` and `exact` are therefore the same here. A code becomes a number without a table or a branch:
//
//   q            S EEEE MMM                 a sign extension and a shift put the sign in place
//   i16, signed  SSSSSSSS SEEEEMMM << 7  =  SS EEEE MMM 0000000, and the second S is masked away
//   as f16       S 0EEEE MMM0000000      =  e4m3(q) * 2^-8, including subnormals (vcvtph2ps
//                                           converts them at full speed)
//
// To make up for this, the scale is multiplied by 2^8, once for 128 k. Both powers of two are exact, so
// the only rounding is the one in NumericFormat.h's formula.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/MatmulTile.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

namespace {

/// Values of K per iteration of the loop over a block.
constexpr int64_t kUnrolled = 8;

class Fp8Loop {
public:
  Fp8Loop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout)
      : k(k), tile(tile), layout(layout) {}

  KernelBuilder::Values emit() {
    int64_t whole = layout.k / layout.blockK, rest = layout.k % layout.blockK;
    KernelBuilder::Values sums(tile.sums(), k.splat(0));
    if (whole)
      sums =
          k.loop(k.word(0), k.word(whole), k.word(1), sums, [&](Value block, ValueRange carried) {
            return emitBlock(block, carried, layout.blockK);
          });
    return rest ? emitBlock(k.word(whole), sums, rest) : sums;
  }

private:
  KernelBuilder::Values emitBlock(Value block, ValueRange carried, int64_t count) {
    SmallVector<Value> places, scales;
    for (const TileRows &rows : tile.vectors) {
      places.push_back(k.at(rows.panel, k.mul(block, layout.blockBytes)));
      Value from = rows.at(k, k.at(places.back(), layout.scaleOffset), 4);
      scales.push_back(k.fmul(k.load(k.f32s, from, 4 * k.lanes), k.splat(0x1p+8)));
    }
    Value x = k.at(tile.x, k.mul(block, layout.blockK * 4));
    KernelBuilder::Values sums(carried.begin(), carried.end());
    int64_t whole = count / kUnrolled * kUnrolled;
    if (whole)
      sums = k.loop(k.word(0), k.word(whole), k.word(kUnrolled), sums,
                    [&](Value at, ValueRange inner) {
                      return emitRange(places, scales, x, at, kUnrolled, inner);
                    });
    return whole < count ? emitRange(places, scales, x, k.word(whole), count - whole, sums) : sums;
  }

  KernelBuilder::Values emitRange(ArrayRef<Value> places, ArrayRef<Value> scales, Value x,
                                  Value first, int64_t count, ValueRange carried) {
    KernelBuilder::Values sums(carried.begin(), carried.end());
    size_t vectors = tile.vectors.size();
    SmallVector<Value> from;
    for (Value place : places)
      from.push_back(k.at(k.at(place, k.mul(first, kPanelRows)), layout.codeOffset));
    tile.prefetchBehind(k, from.front(), count * kPanelRows);
    Value activations = k.at(x, k.mul(first, 4));
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<Value> w;
      for (size_t v = 0; v < vectors; ++v)
        w.push_back(k.fmul(scales[v], numbersAt(tile.vectors[v], k.at(from[v], i * kPanelRows))));
      for (int t = 0; t < tile.tokens; ++t) {
        Value value = k.loadSplat(k.f32s, k.at(activations, t * tile.xRowBytes + i * 4));
        for (size_t v = 0; v < vectors; ++v)
          sums[t * vectors + v] = k.fma(w[v], value, sums[t * vectors + v]);
      }
    }
    return sums;
  }

  /// Loads the values of a register of rows, times 2^-8.
  Value numbersAt(const TileRows &rows, Value line) {
    Value codes = k.load(k.vec(k.i8, k.lanes), rows.at(k, line, 1), k.lanes);
    return k.partsOfE4M3(codes);
  }

  KernelBuilder &k;
  const Tile &tile;
  const PanelLayout &layout;
};

} // namespace

KernelBuilder::Values ingot::codegen::cpu::emitFp8Loop(KernelBuilder &k, const Tile &tile,
                                                       const PanelLayout &layout) {
  return Fp8Loop(k, tile, layout).emit();
}
