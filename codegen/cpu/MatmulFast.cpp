//===- MatmulFast.cpp - Quantised weights times quantised rows ------------===//
//
// The sum of a group of 32 is taken in integers, exactly. Codes are unsigned, so a zero
// point z is folded into the accumulator's start: sum (q - z) x = sum q x + z * negSum. Then
// one f32 chain runs over the groups, in K order:
//
//   acc = fma(float(dot), d_w * d_x, acc)        d_w: the scale; d*s (exact) for super-blocks
//   acc = fma(m, scaledSum, acc)                 where there are minimums; m or -(dmin*t)
//
// Q6_K has a scale per 16: dot = dotA * sA + dotB * sB, still exact, still int32.
//
// Of two planes (q8x2) dot = 256 * dot of the first + dot of the second, exact as well: up to
// 256 * 32 * 128 * 127. Q6_K's would not fit: there each plane has its fma, the first one first.
//
// vpdpbusd adds to int32. vpmaddubsw adds two products in int16, saturating, so partial sums
// are widened before they can: the table in stepsThatFit. 8-bit codes would overflow with the first
// product: they become |w| and x with the sign of w, where 2 * 128 * 127 just fits.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/PanelCodes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;

namespace {

/// An integer dot product that is being summed.
struct Dot {
  Value total;     ///< int32 lanes; null: 0
  Value partial;   ///< int16 lanes (Pmaddubsw only); null: 0
  int pending = 0; ///< steps in `partial`
};

/// Codes of one step: unsigned, or (`sign`) the magnitudes and the signed weights.
struct StepCodes {
  Value bytes, sign;
};

class FastLoop {
public:
  FastLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout)
      : k(k), tile(tile), layout(layout), format(numericFormat(layout.format)),
        row(q8Row(layout.k)), codes(k, format.bits), groupsOfBlock(layout.blockK / kGroupK),
        bytes(k.vec(k.i8, 4 * k.lanes)), words(k.vec(k.i16, 2 * k.lanes)) {}

  KernelBuilder::Values emit() {
    SmallVector<Value> zeros(tile.sums(), k.splat(0));
    return k.loop(k.word(0), k.word(row.groups), k.word(1), zeros,
                  [&](Value g, ValueRange sums) { return emitGroup(g, sums); });
  }

private:
  using Dots = SmallVector<Dot>; // [token][vector]

  int stepsThatFit() const {
    return format.bits == 4 ? 8 : format.bits == 5 ? 4 : format.bits == 6 ? 2 : 1;
  }

  /// Addresses inside the panel of vector v, for group g.
  Value blockOf(size_t v, Value g) {
    return k.at(tile.vectors[v].panel, k.mul(k.divUnsigned(g, groupsOfBlock), layout.blockBytes));
  }
  Value groupInBlock(Value g) {
    return groupsOfBlock == 1 ? k.word(0) : k.remUnsigned(g, groupsOfBlock);
  }

  KernelBuilder::Values emitGroup(Value g, ValueRange sums) {
    size_t vectors = tile.vectors.size();
    SmallVector<Value> blocks, groups;
    Value inBlock = groupInBlock(g);
    for (size_t v = 0; v < vectors; ++v) {
      blocks.push_back(v && tile.vectors[v].panel == tile.vectors[v - 1].panel ? blocks.back()
                                                                               : blockOf(v, g));
      groups.push_back(k.at(blocks[v], k.mul(inBlock, layout.groupCodeBytes)));
      if (v == 0 || tile.vectors[v].panel != tile.vectors[v - 1].panel)
        prefetchAhead(groups[v]);
    }
    for (int64_t line = 0; tile.next && line < tile.nextLines; ++line)
      k.prefetchL2(k.at(k.at(tile.next, k.mul(g, tile.nextLines * 64)), line * 64));
    KernelBuilder::Values next(sums.begin(), sums.end());
    SmallVector<Value> dots; // int32 [token][vector], sub-scaled where there are two to a group
    for (int plane = 0; plane < tile.planes; ++plane) {
      Value x = k.at(tile.x, plane * row.bytes), xFields = k.at(x, k.mul(g, 4));
      Value xGroup = k.at(x, k.mul(g, kGroupK));
      if (format.group == 16) {
        dots = halves(blocks, groups, inBlock, xGroup, k.at(x, k.mul(g, 8)));
        addDots(next, dots, g, inBlock, blocks, xFields);
        continue;
      }
      for (Value &dot : dots)
        dot = k.shiftLeft(dot, 8);
      dots = sum(groups, xGroup, k.at(xFields, row.negSumOffset), 0, kStepsOfGroup, dots);
      if (plane + 1 == tile.planes)
        addDots(next, dots, g, inBlock, blocks, xFields);
    }
    return next;
  }

  /// acc += the dots of a group, scaled, and its minimums; `xFields`: of the first token's row.
  void addDots(KernelBuilder::Values &next, ArrayRef<Value> dots, Value g, Value inBlock,
               ArrayRef<Value> blocks, Value xFields) {
    size_t vectors = tile.vectors.size();
    for (size_t v = 0; v < vectors; ++v) {
      Value scale = scaleOf(v, blocks[v], inBlock), minimum = minimumOf(v, blocks[v], inBlock);
      for (int t = 0; t < tile.tokens; ++t) {
        Value fields = k.at(xFields, t * tile.xRowBytes);
        Value factor = k.fmul(scale, k.loadSplat(k.f32s, k.at(fields, row.scaleOffset)));
        Value &acc = next[t * vectors + v];
        Value dot = k.toFloat(dots[t * vectors + v]);
        if (tile.slack)
          dot = k.fadd(dot, k.bitcast(k.f32s, slackOf(t, g, scale)));
        acc = k.fma(dot, factor, acc);
        if (minimum)
          acc = k.fma(minimum, k.loadSplat(k.f32s, k.at(fields, row.scaledSumOffset)), acc);
      }
    }
  }

  /// The slack of a token's group, with the sign of the scale: as integers.
  Value slackOf(int t, Value g, Value scale) {
    Value at = k.at(k.at(tile.slack, k.mul(g, 4)), t * tile.slackBytes);
    Value sign = k.bitAnd(k.bitcast(k.i32s, scale), int64_t(0x80000000));
    return arith::XOrIOp::create(k.b, k.loadSplat(k.i32s, at), sign);
  }

  void prefetchAhead(Value group) {
    int64_t bytesOfGroup = layout.blockBytes / groupsOfBlock;
    for (int64_t line = 0; tile.prefetch && line < bytesOfGroup; line += 64)
      k.prefetch(k.at(group, tile.prefetch + line));
  }

  /// Sums over steps first … first+steps-1, for all of the tile; `negSum` is where the first token
  /// has the negated sum of these activations. They are added to `from`, unless that is empty.
  SmallVector<Value> sum(ArrayRef<Value> groups, Value xGroup, Value negSum, int first, int steps,
                         ArrayRef<Value> from = {}) {
    size_t vectors = tile.vectors.size();
    Dots dots(tile.sums());
    for (size_t i = 0; i < from.size(); ++i)
      dots[i].total = from[i];
    for (int t = 0; t < tile.tokens && format.zeroPoint && k.isa.dot == DotKind::Vpdpbusd; ++t) {
      Value start = startOf(negSum, t);
      for (size_t v = 0; v < vectors; ++v) {
        Value &total = dots[t * vectors + v].total;
        total = total ? k.add(total, start) : start;
      }
    }
    if (splitsSign())
      addStepsInLoop(dots, groups, xGroup);
    else
      for (int i = 0; i < steps; ++i) {
        int s = format.group == 16 ? first + i : PanelCodes::step(format.bits, first + i);
        SmallVector<StepCodes> q;
        for (size_t v = 0; v < vectors; ++v)
          q.push_back({codes.load(tile.vectors[v], groups[v], s), Value()});
        addStep(dots, q, k.at(xGroup, 4 * s));
      }
    SmallVector<Value> totals;
    for (int t = 0; t < tile.tokens; ++t)
      for (size_t v = 0; v < vectors; ++v) {
        Dot &dot = dots[t * vectors + v];
        flush(dot);
        if (format.zeroPoint && k.isa.dot == DotKind::Pmaddubsw &&
            !splitsSign()) // late: registers are few
          dot.total = k.add(dot.total, startOf(negSum, t));
        totals.push_back(dot.total);
      }
    return totals;
  }

  bool splitsSign() const { return format.bits == 8 && k.isa.dot == DotKind::Pmaddubsw; }

  /// All eight steps as a loop: unrolled, LLVM's scheduler goes token by token and spills every
  /// code.
  void addStepsInLoop(Dots &dots, ArrayRef<Value> groups, Value xGroup) {
    auto starts = llvm::map_to_vector(
        dots, [&](const Dot &dot) { return dot.total ? dot.total : k.splatInt(k.i32s, 0); });
    auto totals = k.loop(
        k.word(0), k.word(kStepsOfGroup), k.word(1), starts, [&](Value s, ValueRange carried) {
          SmallVector<StepCodes> q;
          for (size_t v = 0; v < tile.vectors.size(); ++v) {
            Value code = codes.load(tile.vectors[v], k.at(groups[v], k.mul(s, 64)), 0);
            Value sign = arith::XOrIOp::create(k.b, code, k.splatInt(bytes, -128)); // q - 128
            q.push_back({math::AbsIOp::create(k.b, sign), sign});
          }
          Dots sums(dots.size());
          for (auto [sum, total] : llvm::zip_equal(sums, carried))
            sum.total = total;
          addStep(sums, q, k.at(xGroup, k.mul(s, 4)));
          return llvm::map_to_vector(sums, [](const Dot &dot) { return dot.total; });
        });
    for (auto [dot, total] : llvm::zip_equal(dots, totals))
      dot.total = total;
  }

  /// One step of every dot of the tile; `x` is where the first token has its four activations.
  void addStep(Dots &dots, ArrayRef<StepCodes> q, Value x) {
    for (int t = 0; t < tile.tokens; ++t) {
      Value activations = k.bitcast(bytes, k.loadSplat(k.i32s, k.at(x, t * tile.xRowBytes)));
      for (size_t v = 0; v < q.size(); ++v)
        addProducts(dots[t * q.size() + v], q[v], activations);
    }
  }

  Value startOf(Value negSum, int t) {
    Value negated = k.loadSplat(k.i32s, k.at(negSum, t * tile.xRowBytes));
    return k.shiftLeft(negated, llvm::Log2_32(format.zeroPoint));
  }

  /// Q6_K: both 16-dots, times their scales.
  SmallVector<Value> halves(ArrayRef<Value> blocks, ArrayRef<Value> groups, Value inBlock,
                            Value xGroup, Value xHalves) {
    SmallVector<Value> products;
    size_t vectors = tile.vectors.size();
    for (int half = 0; half < 2; ++half) {
      SmallVector<Value> dots =
          sum(groups, xGroup, k.at(xHalves, row.negSum16Offset + 4 * half), 4 * half, 4);
      for (size_t v = 0; v < vectors; ++v) {
        Value from = k.at(blocks[v], k.mul(k.add(k.mul(inBlock, 2), half), kPanelRows));
        Value scale = k.widen(subScaleBytes(v, from, layout.subScaleOffset), k.i32s);
        for (int t = 0; t < tile.tokens; ++t) {
          Value &dot = dots[t * vectors + v];
          dot = k.mul(dot, scale);
          if (half == 1)
            dot = k.add(products[t * vectors + v], dot);
        }
      }
      products = dots;
    }
    return products;
  }

  //===--- One step of a dot, per instruction set ---------------------------===//

  void addProducts(Dot &dot, const StepCodes &q, Value x) {
    if (k.isa.dot == DotKind::Vpdpbusd) {
      dot.total = k.dotU8S8(dot.total ? dot.total : k.splatInt(k.i32s, 0), q.bytes, x);
      return;
    }
    if (q.sign)
      x = k.intrinsic("llvm.x86.avx2.psign.b", bytes, {x, q.sign});
    Value pairs = k.intrinsic("llvm.x86.avx2.pmadd.ub.sw", words, {q.bytes, x});
    dot.partial = dot.partial ? k.add(dot.partial, pairs) : pairs;
    if (++dot.pending == stepsThatFit())
      flush(dot);
  }

  /// Widens what int16 lanes hold.
  void flush(Dot &dot) {
    if (dot.partial) {
      Value wide =
          k.intrinsic("llvm.x86.avx2.pmadd.wd", k.i32s, {dot.partial, k.splatInt(words, 1)});
      dot.total = dot.total ? k.add(dot.total, wide) : wide;
    }
    dot.partial = Value();
    dot.pending = 0;
  }

  //===--- Scales -----------------------------------------------------------===//

  Value halfFloats(size_t v, Value block, int64_t offset) {
    return k.extend(
        k.load(k.vec(k.f16, k.lanes), tile.vectors[v].at(k, k.at(block, offset), 2), 2 * k.lanes));
  }
  Value subScaleBytes(size_t v, Value from, int64_t offset) {
    return k.load(k.vec(k.i8, k.lanes), tile.vectors[v].at(k, k.at(from, offset), 1), k.lanes);
  }
  Value subScaled(size_t v, Value block, Value inBlock, int64_t offset, int64_t subOffset) {
    Value from = k.at(block, k.mul(inBlock, kPanelRows));
    Value sub = k.toFloat(k.widenUnsigned(subScaleBytes(v, from, subOffset), k.i32s));
    return k.fmul(halfFloats(v, block, offset), sub);
  }
  Value scaleOf(size_t v, Value block, Value inBlock) {
    if (layout.subScaleOffset < 0 || format.group == 16)
      return halfFloats(v, block, layout.scaleOffset);
    return subScaled(v, block, inBlock, layout.scaleOffset, layout.subScaleOffset);
  }
  Value minimumOf(size_t v, Value block, Value inBlock) {
    if (!format.hasMin)
      return Value();
    if (layout.subMinOffset < 0)
      return halfFloats(v, block, layout.minOffset);
    return arith::NegFOp::create(
        k.b, subScaled(v, block, inBlock, layout.minOffset, layout.subMinOffset));
  }

  KernelBuilder &k;
  const Tile &tile;
  const PanelLayout &layout;
  const NumericFormat &format;
  const Q8Row row;
  PanelCodes codes;
  const int64_t groupsOfBlock;
  const VectorType bytes, words;
};

} // namespace

KernelBuilder::Values ingot::cpu::emitFastLoop(KernelBuilder &k, const Tile &tile,
                                               const PanelLayout &layout) {
  return FastLoop(k, tile, layout).emit();
}
