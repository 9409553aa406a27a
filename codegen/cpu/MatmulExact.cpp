//===- MatmulExact.cpp - Quantised weights times f32 rows -----------------===//
//
// Each weight is de-quantised in f32 by the formulas of NumericFormat.h, with one rounding
// per operation, and goes into one chain per output: acc = fma(w, x[k], acc), k = 0, 1, 2, …
// The compiler's interpreter computes the same. This loop reads the same panels as `fast`:
// a lane holds four codes, which are shifted out one after another.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/PanelCodes.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

namespace {

class ExactLoop {
public:
  ExactLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout)
      : k(k), tile(tile), layout(layout), format(numericFormat(layout.format)), codes(k, layout),
        groupsOfBlock(layout.blockK / kGroupK) {}

  KernelBuilder::Values emit() {
    int64_t whole = layout.k / kGroupK, rest = layout.k % kGroupK;
    KernelBuilder::Values sums(tile.sums(), k.splat(0));
    if (whole)
      sums = k.loop(k.word(0), k.word(whole), k.word(1), sums,
                    [&](Value g, ValueRange carried) { return emitGroup(g, carried, kGroupK); });
    return rest ? emitGroup(k.word(whole), sums, rest) : sums;
  }

private:
  /// Scale and minimum (or zero point, an integer) of the next 16 or 32 values, per vector.
  struct Scales {
    SmallVector<Value> scale, minimum;
  };

  KernelBuilder::Values emitGroup(Value g, ValueRange carried, int64_t count) {
    KernelBuilder::Values sums(carried.begin(), carried.end());
    SmallVector<Value> blocks;
    SmallVector<GroupPlace> groups;
    Value inBlock = groupsOfBlock == 1 ? k.word(0) : k.remUnsigned(g, groupsOfBlock);
    for (const TileRows &rows : tile.vectors) {
      blocks.push_back(k.at(rows.panel, k.mul(k.divUnsigned(g, groupsOfBlock), layout.blockBytes)));
      groups.push_back(codes.group(blocks.back(), inBlock));
    }
    Value x = k.at(tile.x, k.mul(g, kGroupK * 4));
    Scales scales;
    for (int64_t s = 0; s * 4 < count; ++s) {
      if (s * 4 % std::min<int64_t>(format.group, kGroupK) == 0)
        scales = scalesOf(blocks, inBlock, int(s * 4 / 16));
      SmallVector<Value> lanes; // four codes each
      for (size_t v = 0; v < tile.vectors.size(); ++v)
        lanes.push_back(k.bitcast(k.i32s, codes.load(tile.vectors[v], groups[v], s)));
      for (int64_t i = 0; i < 4 && s * 4 + i < count; ++i)
        emitStep(lanes, i, scales, k.at(x, (s * 4 + i) * 4), sums);
    }
    return sums;
  }

  void emitStep(ArrayRef<Value> lanes, int64_t i, const Scales &scales, Value x,
                KernelBuilder::Values &sums) {
    size_t vectors = lanes.size();
    SmallVector<Value> w;
    for (size_t v = 0; v < vectors; ++v) {
      Value q = k.shiftRight(lanes[v], 8 * i);
      if (i < 3)
        q = k.bitAnd(q, 255);
      q = format.hasZeros ? k.sub(q, scales.minimum[v]) : k.sub(q, format.zeroPoint);
      w.push_back(k.fmul(scales.scale[v], k.toFloat(q)));
      if (format.hasMin && !format.hasZeros)
        w[v] = layout.subMinOffset < 0 ? k.fadd(w[v], scales.minimum[v])
                                       : k.fsub(w[v], scales.minimum[v]);
    }
    for (int t = 0; t < tile.tokens; ++t) {
      Value value = k.loadSplat(k.f32s, k.at(x, t * tile.xRowBytes));
      for (size_t v = 0; v < vectors; ++v)
        sums[t * vectors + v] = k.fma(w[v], value, sums[t * vectors + v]);
    }
  }

  Scales scalesOf(ArrayRef<Value> blocks, Value inBlock, int half) {
    Scales scales;
    for (size_t v = 0; v < blocks.size(); ++v) {
      auto scalesAt = [&](int64_t offset, NumericFormat::Scale stored) {
        return codes.scales(tile.vectors[v], blocks[v], offset, stored);
      };
      auto integersAt = [&](int64_t offset, Value group) {
        return codes.subScales(tile.vectors[v], blocks[v], offset, group, half);
      };
      auto subScaled = [&](int64_t offset, int64_t subOffset) {
        if (format.floatSubScales)
          return k.fmul(scalesAt(offset, format.scale),
                        codes.floatSubScales(tile.vectors[v], blocks[v], subOffset,
                                             k.add(k.mul(inBlock, 2), half)));
        return k.fmul(scalesAt(offset, format.scale), k.toFloat(integersAt(subOffset, inBlock)));
      };
      scales.scale.push_back(layout.subScaleOffset < 0
                                 ? scalesAt(layout.scaleOffset, format.scale)
                                 : subScaled(layout.scaleOffset, layout.subScaleOffset));
      if (format.hasZeros)
        scales.minimum.push_back(integersAt(layout.subMinOffset, k.word(0)));
      else if (format.hasMin)
        scales.minimum.push_back(layout.subMinOffset < 0
                                     ? scalesAt(layout.minOffset, format.minScale())
                                     : subScaled(layout.minOffset, layout.subMinOffset));
    }
    return scales;
  }

  KernelBuilder &k;
  const Tile &tile;
  const PanelLayout &layout;
  const NumericFormat &format;
  PanelCodes codes;
  const int64_t groupsOfBlock;
};

} // namespace

KernelBuilder::Values ingot::codegen::cpu::emitExactLoop(KernelBuilder &k, const Tile &tile,
                                                         const PanelLayout &layout) {
  return ExactLoop(k, tile, layout).emit();
}
