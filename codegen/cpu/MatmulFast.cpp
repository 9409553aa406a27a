//===- MatmulFast.cpp - Quantised weights times quantised rows ------------===//
//
// The sum of a group of 32 is computed exactly, in integers. Codes are unsigned, so a zero
// point z is folded into the accumulator's initial value: sum (q - z) x = sum q x + z * negSum.
// Then one f32 chain runs over the groups, in K order:
//
//   acc = fma(float(dot), d_w * d_x, acc)        d_w: the scale; d*s (exact) for super-blocks
//   acc = fma(m, scaledSum, acc)                 if there are minimums; m: m, -(dmin*t) or -(d*z)
//
// Q2_K, Q3_K and Q6_K have a scale per 16: dot = dotA * sA + dotB * sB, still exact and still int32. Q2_K also has a
// minimum per 16, and their sum is an integer as well:
//
//   acc = fma(float(tA * negSumA + tB * negSumB), dmin * d_x, acc)
//
// With two planes (q8x2), dot = 256 * dot of the first + dot of the second, which is exact as well: up to
// 256 * 32 * 128 * 127. With a scale per 16 it would not fit, so each plane has its own fmas, and the first plane is
// added first.
//
// NVFP4's scales per 16 are floats, so each half of a group has its own fmas.
//
// vpdpbusd adds to int32. vpmaddubsw adds two products in int16 with saturation, so partial sums are widened
// before they can saturate (stepsThatFit). With 8-bit codes, or with values of IQ4's table, the first two products
// already could overflow. In these cases |w| is multiplied by x with the sign of w, and the largest sum of two
// products, 2 * 128 * 127, fits. Partial sums are widened by a multiplication (vpmaddwd). If there is a scale per 16,
// vpmaddwd multiplies by the scale, so applying the scale costs nothing.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/PanelGroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

namespace {

/// An integer dot product under accumulation.
struct Dot {
  Value total;     ///< int32 lanes; null: 0
  Value partial;   ///< int16 lanes (Pmaddubsw only); null: 0
  int pending = 0; ///< steps in `partial`
  Value factor;    ///< int16 lanes: factor of `partial` when it is widened; null: 1
};

/// Codes of one step: unsigned codes, or, if `sign` is set, magnitudes in `bytes` and signed weights in `sign`.
struct StepCodes {
  Value bytes, sign;
};

/// One register of a group's rows. Each value is computed once, so several tokens can share it.
class SharedRegister : public PanelGroup {
public:
  SharedRegister(PanelGroup &group, size_t v) : group(group), v(v) {}

  Value code(size_t, int s) override {
    return once(codes[s], [&] { return group.code(v, s); });
  }
  Value signedCode(size_t, Value line, int s) override { return group.signedCode(v, line, s); }
  Value scale(size_t) override {
    return once(scales, [&] { return group.scale(v); });
  }
  Value minimum(size_t) override {
    return once(minimums, [&] { return group.minimum(v); });
  }
  Value subScale(size_t, int half) override {
    return once(subScales[half], [&] { return group.subScale(v, half); });
  }
  Value subMinimum(size_t, int half) override {
    return once(subMinimums[half], [&] { return group.subMinimum(v, half); });
  }

private:
  static Value once(std::optional<Value> &known, function_ref<Value()> compute) {
    if (!known)
      known = compute();
    return *known;
  }

  PanelGroup &group;
  size_t v;
  std::optional<Value> codes[kStepsOfGroup], scales, minimums, subScales[2], subMinimums[2];
};

class FastLoop {
public:
  FastLoop(KernelBuilder &k, const Tile &tile, const PanelLayout &layout)
      : k(k), tile(tile), layout(layout), format(numericFormat(layout.format)),
        row(q8Row(layout.k)), unpacked(layout, k.isa),
        products(tile.unpacked && unpacked.productZero), halves(format.group == 16 && !products),
        zeroPoint(products ? *unpacked.productZero : format.zeroPoint),
        groupsOfBlock(layout.blockK / kGroupK), bytes(k.vec(k.i8, 4 * k.lanes)),
        words(k.vec(k.i16, 2 * k.lanes)) {}

  KernelBuilder::Values emit() {
    SmallVector<Value> zeros(tile.sums(), k.splat(0));
    auto group = [&](Value g, ValueRange sums) { return emitGroup(g, sums); };
    if (groupsOfBlock == 1 || tile.unpacked)
      return k.loop(k.word(0), k.word(row.groups), k.word(1), zeros, group);
    return k.loop(k.word(0), k.word(row.groups), k.word(groupsOfBlock), zeros,
                  [&](Value first, ValueRange sums) {
                    touchScales(first);
                    Value end = k.minSigned(k.add(first, groupsOfBlock), k.word(row.groups));
                    return k.loop(first, end, k.word(1), sums, group);
                  });
  }

private:
  using Dots = SmallVector<Dot>; // [token][vector]

  /// Prefetches for a group of K. With several tokens, each tile already prefetches its part of the next panel.
  /// With two or three tokens the speed is still bound by memory, as with one, and the runtime decides whether
  /// each line is prefetched. Each line is always prefetched in two cases. First, if the tile has fewer rows than
  /// a panel: it then skips half of each pair of lines, and its stream does not ascend. Second, if a line takes
  /// so many dots that the CPU's prefetchers see too little of the stream. On Zen 4 this begins with as many
  /// tokens as a code has bits.
  void prefetchFor(Value group) {
    const int64_t bytes = groupsOfBlock == 1 ? layout.blockBytes : layout.groupCodeBytes;
    if (tile.tokens == 1)
      return tile.prefetchBehind(k, group, bytes);
    if (!tile.prefetch)
      return;
    const bool rises = int64_t(tile.vectors.size()) * k.lanes == kPanelRows;
    if (rises && tile.tokens < format.bits) {
      if (mayReadEachLine())
        k.when(tile.readsEachLine(k), [&] { tile.prefetchLines(k, group, bytes); });
      return;
    }
    constexpr int64_t kAhead = 4096;
    for (int64_t line = 0; line < layout.blockBytes / groupsOfBlock; line += 64)
      k.prefetch(k.at(group, kAhead + line));
  }

  /// Returns whether the runtime chooses how the tile prefetches weights. Its choice is for steps of up to
  /// three tokens (runtime/device/cpu/ReadAhead.h). Tiles of two tokens with two dots a group would spill
  /// around the branch.
  bool mayReadEachLine() const { return tile.tokens == 1 || (tile.tokens == 2 && !halves); }

  /// Reads a word of each line of a block's scales. The groups of the block need these lines one by one, but
  /// the CPU's prefetchers lose a stream that skips several lines and comes back to them.
  void touchScales(Value firstGroup) {
    for (size_t v = 0; v < tile.vectors.size(); ++v) {
      if (v && tile.vectors[v].panel == tile.vectors[v - 1].panel)
        continue;
      Value block = PackedGroup::blockOf(k, layout, tile.vectors[v].panel, firstGroup);
      for (int64_t at = 0; at < layout.codeOffset; at += 64)
        k.touch(k.at(block, at));
      if (tile.prefetch && mayReadEachLine())
        k.when(tile.readsEachLine(k), [&] { tile.prefetchLines(k, block, layout.codeOffset); });
    }
  }

  KernelBuilder::Values emitGroup(Value g, ValueRange sums) {
    if (tile.unpacked) {
      UnpackedGroup group(k, tile.vectors, unpacked, tile.unpacked, g);
      return addWhole(group, g, sums);
    }
    PackedGroup group(k, tile.vectors, layout, g);
    for (size_t v = 0; v < tile.vectors.size(); ++v)
      if (v == 0 || tile.vectors[v].panel != tile.vectors[v - 1].panel)
        prefetchFor(group.codesOf(v));
    return addWhole(group, g, sums);
  }

  /// Adds a group to all sums of the tile. With 16 registers, the codes of a register of rows take half of them. If
  /// each step went over all tokens, LLVM's scheduler would load all their activations first and spill them, so
  /// each token's dot is finished before the next one begins.
  KernelBuilder::Values addWhole(PanelGroup &group, Value g, ValueRange sums) {
    // Unpacked codes only need to be loaded. Then it is 5 % faster to go over all tokens in each step, unless
    // the dots of two halves spill.
    const bool loadsOnly = tile.unpacked && !(halves && !format.hasMin);
    if (k.isa.coversPanel || tile.tokens == 1 || split || loadsOnly)
      return addGroup(group, g, sums);
    const size_t vectors = tile.vectors.size();
    KernelBuilder::Values next(sums.begin(), sums.end());
    for (size_t v = 0; v < vectors; ++v) {
      SharedRegister shared(group, v);
      for (int t = 0; t < tile.tokens; ++t) {
        Tile one = tile;
        one.tokens = 1, one.vectors = {tile.vectors[v]};
        one.x = k.at(tile.x, t * tile.xRowBytes);
        if (tile.slack)
          one.slack = k.at(tile.slack, t * tile.slackBytes);
        if (v || t)
          one.next = Value();
        k.touch(k.at(one.x, k.mul(g, kGroupK))); // LLVM does not move later loads above it
        Value &sum = next[t * vectors + v];
        sum = FastLoop(k, one, layout).addGroup(shared, g, sum).front();
      }
    }
    return next;
  }

  KernelBuilder::Values addGroup(PanelGroup &group, Value g, ValueRange sums) {
    size_t vectors = tile.vectors.size();
    for (int64_t line = 0; tile.next && line < tile.nextLines; ++line)
      k.prefetchL2(k.at(k.at(tile.next, k.mul(g, tile.nextLines * 64)), line * 64));
    KernelBuilder::Values next(sums.begin(), sums.end());
    SmallVector<Value> dots; // int32 [token][vector], sub-scaled if a group has two sub-scales
    for (int plane = 0; plane < tile.planes; ++plane) {
      Value x = k.at(tile.x, plane * row.bytes), xFields = k.at(x, k.mul(g, 4));
      Value xGroup = k.at(x, k.mul(g, kGroupK)), xHalves = k.at(x, k.mul(g, 8));
      if (format.floatSubScales) {
        Value negSums = k.at(xHalves, row.negSum16Offset);
        for (int half = 0; half < 2; ++half) {
          dots = sum(group, xGroup, k.at(negSums, 4 * half), 4 * half, 4);
          for (size_t v = 0; v < vectors; ++v)
            addScaled(next, v, dots, xFields, group.subScale(v, half));
        }
        continue;
      }
      if (halves) {
        dots = sumOfBoth(group, xGroup, xHalves);
        addDots(next, dots, g, group, xFields, xHalves);
        continue;
      }
      for (Value &dot : dots)
        dot = k.shiftLeft(dot, 8);
      dots = sum(group, xGroup, k.at(xFields, row.negSumOffset), 0, kStepsOfGroup, dots);
      if (plane + 1 == tile.planes)
        addDots(next, dots, g, group, xFields, xHalves);
    }
    return next;
  }

  /// acc += the scaled dots of a group and its minimums. `xFields`, and `xHalves` for groups of two halves, are
  /// addresses in the first token's row.
  void addDots(KernelBuilder::Values &next, ArrayRef<Value> dots, Value g, PanelGroup &group,
               Value xFields, Value xHalves) {
    size_t vectors = tile.vectors.size();
    if (!tile.unpacked && tile.tokens > 1)
      // Loads cannot move above this one. Scales that were loaded before the dots would make sums spill.
      k.touch(xFields);
    SmallVector<Value> scales(vectors), minimums(vectors), halfMinimums(vectors);
    // The order leaves registers to the sums. Scales of a packed group take registers to compute, so all tokens
    // of a vector follow each other. Scales of an unpacked group are only loaded, but would keep the dots of
    // all tokens alive.
    for (size_t i = 0; i < dots.size(); ++i) {
      const size_t t = tile.unpacked ? i / vectors : i % tile.tokens,
                   v = tile.unpacked ? i % vectors : i / tile.tokens;
      if (!scales[v]) {
        scales[v] = group.scale(v);
        minimums[v] = group.minimum(v);
        if (format.hasMin && format.group == 16)
          halfMinimums[v] = pairOf(group.subMinimum(v, 0), group.subMinimum(v, 1));
      }
      Value fields = k.at(xFields, t * tile.xRowBytes);
      Value factor = k.fmul(scales[v], k.loadSplat(k.f32s, k.at(fields, row.scaleOffset)));
      Value &acc = next[t * vectors + v];
      Value dot = dots[t * vectors + v];
      if (dot.getType() != k.f32s)
        dot = k.toFloat(dot);
      if (tile.slack)
        dot = k.fadd(dot, k.bitcast(k.f32s, slackOf(t, g, scales[v])));
      acc = k.fma(dot, factor, acc);
      if (halfMinimums[v])
        acc = k.fma(k.toFloat(sumOfHalves(halfMinimums[v], k.at(xHalves, t * tile.xRowBytes))),
                    k.fmul(minimums[v], k.loadSplat(k.f32s, k.at(fields, row.scaleOffset))), acc);
      else if (minimums[v])
        acc = k.fma(minimums[v], k.loadSplat(k.f32s, k.at(fields, row.scaledSumOffset)), acc);
    }
  }

  /// acc += the dots of vector v times `scale` and the scale of the activations.
  void addScaled(KernelBuilder::Values &next, size_t v, ArrayRef<Value> dots, Value xFields,
                 Value scale) {
    for (int t = 0; t < tile.tokens; ++t) {
      Value xScale = k.loadSplat(k.f32s, k.at(xFields, t * tile.xRowBytes + row.scaleOffset));
      const size_t i = static_cast<size_t>(t) * tile.vectors.size() + v;
      next[i] = k.fma(k.toFloat(dots[i]), k.fmul(scale, xScale), next[i]);
    }
  }

  /// Returns the slack of a token's group with the sign of `scale`, as the bits of an f32.
  Value slackOf(int t, Value g, Value scale) {
    Value at = k.at(k.at(tile.slack, k.mul(g, 4)), t * tile.slackBytes);
    Value sign = k.bitAnd(k.bitcast(k.i32s, scale), int64_t(0x80000000));
    return arith::XOrIOp::create(k.b, k.loadSplat(k.i32s, at), sign);
  }

  /// Returns the sums over steps first … first+steps-1 for the whole tile, added to `from` unless that is
  /// empty. `negSum` is the address of the negated sum of these activations in the first token's row.
  SmallVector<Value> sum(PanelGroup &group, Value xGroup, Value negSum, int first, int steps,
                         ArrayRef<Value> from = {}, ArrayRef<Value> factors = {}) {
    size_t vectors = tile.vectors.size();
    Dots dots(tile.sums());
    for (size_t i = 0; i < from.size(); ++i)
      dots[i].total = from[i];
    for (size_t i = 0; i < dots.size() && !factors.empty(); ++i)
      dots[i].factor = factors[i % vectors];
    for (int t = 0; t < tile.tokens && zeroPoint && k.isa.dot == DotKind::Vpdpbusd; ++t) {
      Value start = startOf(negSum, t);
      for (size_t v = 0; v < vectors; ++v) {
        Value &total = dots[t * vectors + v].total;
        total = total ? k.add(total, start) : start;
      }
    }
    if (split)
      addStepsInLoop(dots, group, xGroup);
    else
      for (int i = 0; i < steps; ++i) {
        int s = tile.unpacked || halves ? first + i : PanelCodes::step(format, i);
        SmallVector<StepCodes> q;
        for (size_t v = 0; v < vectors; ++v)
          q.push_back({group.code(v, s), Value()});
        addStep(dots, q, k.at(xGroup, 4 * s));
      }
    SmallVector<Value> totals;
    for (int t = 0; t < tile.tokens; ++t)
      for (size_t v = 0; v < vectors; ++v) {
        Dot &dot = dots[t * vectors + v];
        flush(dot);
        // The zero point is added last, because registers are scarce. Split codes already have 128 subtracted.
        if (k.isa.dot == DotKind::Pmaddubsw && factors.empty() && zeroPoint != (split ? 128 : 0))
          dot.total = k.add(dot.total, startOf(negSum, t, split ? 128 : 0));
        totals.push_back(dot.total);
      }
    return totals;
  }

  /// Adds all eight steps in a loop over lines. If the loop were unrolled, LLVM's scheduler would go token by
  /// token and spill every code.
  void addStepsInLoop(Dots &dots, PanelGroup &group, Value xGroup) {
    auto starts = llvm::map_to_vector(
        dots, [&](const Dot &dot) { return dot.total ? dot.total : k.splatInt(k.i32s, 0); });
    const int lines = lowBitsOf(format.bits); // a line of nibbles has steps s and s + 4
    auto totals =
        k.loop(k.word(0), k.word(lines), k.word(1), starts, [&](Value line, ValueRange carried) {
          Dots sums(dots.size());
          for (auto [sum, total] : llvm::zip_equal(sums, carried))
            sum.total = total;
          for (int s = 0; s < kStepsOfGroup; s += lines) {
            SmallVector<StepCodes> q;
            for (size_t v = 0; v < tile.vectors.size(); ++v) {
              Value sign = group.signedCode(v, line, s);
              q.push_back({math::AbsIOp::create(k.b, sign), sign});
            }
            addStep(sums, q, k.at(k.at(xGroup, k.mul(line, 4)), 4 * s));
          }
          return llvm::map_to_vector(sums, [](const Dot &dot) { return dot.total; });
        });
    for (auto [dot, total] : llvm::zip_equal(dots, totals))
      dot.total = total;
  }

  /// Adds one step to every dot of the tile. `x` is the address of the first token's four activations.
  void addStep(Dots &dots, ArrayRef<StepCodes> q, Value x) {
    for (int t = 0; t < tile.tokens; ++t) {
      Value activations = k.bitcast(bytes, k.loadSplat(k.i32s, k.at(x, t * tile.xRowBytes)));
      for (size_t v = 0; v < q.size(); ++v)
        addProducts(dots[t * q.size() + v], q[v], activations);
    }
  }

  /// Returns the correction of a dot for the zero point, of which `less` has already been subtracted.
  Value startOf(Value negSum, int t, int less = 0) {
    Value negated = k.loadSplat(k.i32s, k.at(negSum, t * tile.xRowBytes));
    const int by = zeroPoint - less, size = std::abs(by);
    // Multiplies by a sum of powers of two, since shifts are cheaper than a multiplication.
    Value moved;
    for (int bit = 30; bit >= 0; --bit)
      if (size >> bit & 1) {
        Value part = k.shiftLeft(negated, bit);
        moved = moved ? k.add(moved, part) : part;
      }
    return by < 0 ? k.sub(k.splatInt(k.i32s, 0), moved) : moved;
  }

  /// Returns the sum over both halves of a group of a sub-scale or sub-minimum (`pair`) times the negated sum of the
  /// activations, times `times`, a power of two. `xHalves` is the address of the group's sums in a token's row.
  Value sumOfHalves(Value pair, Value xHalves, int times = 1) {
    Value sums = k.at(xHalves, row.negSum16Offset);
    Value one = k.load(k.i32, sums), other = k.load(k.i32, k.at(sums, 4));
    const int by = static_cast<int>(llvm::Log2_32(unsigned(times)));
    const bool early = 16 * 127 * times <= 32767; // once for all rows
    Value x = early ? pairOf(k.shiftLeft(one, by), k.shiftLeft(other, by)) : pairOf(one, other);
    Value sum = k.dotPairs(pair, k.broadcast(k.i32s, x));
    return early ? sum : k.shiftLeft(sum, by);
  }
  /// Packs two 16-bit integers into a 32-bit lane.
  Value pairOf(Value low, Value high) {
    return arith::OrIOp::create(k.b, k.bitAnd(low, 0xffff), k.shiftLeft(high, 16));
  }

  /// For formats with one scale per 16 elements, multiplies each of the two 16-element dot products by its scale and
  /// returns the sum. It is computed in floats if the dot products do not fit in 16 bits. No intermediate result has
  /// more than 24 bits (2 * 16 * 127 * 32 * 128 for Q6_K), so all are exact.
  SmallVector<Value> sumOfBoth(PanelGroup &group, Value xGroup, Value xHalves) {
    size_t vectors = tile.vectors.size();
    if (k.isa.dot == DotKind::Pmaddubsw)
      return sumWithFactors(group, xGroup, xHalves);
    SmallVector<Value> dots[2];
    for (int half = 0; half < 2; ++half)
      dots[half] = sum(group, xGroup, k.at(xHalves, row.negSum16Offset + 4 * half), 4 * half, 4);
    // Dots that fit 16 bits are multiplied by both scales in one instruction.
    const int code = std::max(zeroPoint, format.largest() - zeroPoint);
    const bool fits = 16 * 127 * code <= 32767;
    for (size_t v = 0; v < vectors; ++v) {
      Value first = group.subScale(v, 0), second = group.subScale(v, 1);
      Value scales = fits ? pairOf(first, second) : Value();
      if (!fits)
        first = k.toFloat(first), second = k.toFloat(second);
      for (int t = 0; t < tile.tokens; ++t) {
        Value &dot = dots[0][t * vectors + v], other = dots[1][t * vectors + v];
        dot = fits ? k.dotPairs(pairOf(dot, other), scales)
                   : k.fma(k.toFloat(other), second, k.fmul(k.toFloat(dot), first));
      }
    }
    return dots[0];
  }

  /// sumOfBoth for levels that widen partial sums by a multiplication.
  SmallVector<Value> sumWithFactors(PanelGroup &group, Value xGroup, Value xHalves) {
    SmallVector<Value> products;
    size_t vectors = tile.vectors.size();
    for (int half = 0; half < 2; ++half) {
      SmallVector<Value> factors;
      for (size_t v = 0; v < vectors; ++v) {
        Value scale = group.subScale(v, half);
        factors.push_back(k.bitcast(words, pairOf(scale, scale)));
      }
      products = sum(group, xGroup, Value(), 4 * half, 4, products, factors);
    }
    for (size_t v = 0; v < vectors && zeroPoint; ++v) {
      Value scales = pairOf(group.subScale(v, 0), group.subScale(v, 1));
      for (int t = 0; t < tile.tokens; ++t) {
        Value &product = products[t * vectors + v];
        product = k.add(product, sumOfHalves(scales, k.at(xHalves, t * tile.xRowBytes), zeroPoint));
      }
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
    if (++dot.pending == std::max(stepsThatFit(format), 1))
      flush(dot);
  }

  /// Widens the partial sum in int16 lanes and adds it to the total.
  void flush(Dot &dot) {
    if (dot.partial) {
      Value factor = dot.factor ? dot.factor : k.splatInt(words, 1);
      Value wide = k.intrinsic("llvm.x86.avx2.pmadd.wd", k.i32s, {dot.partial, factor});
      dot.total = dot.total ? k.add(dot.total, wide) : wide;
    }
    dot.partial = Value();
    dot.pending = 0;
  }

  KernelBuilder &k;
  const Tile &tile;
  const PanelLayout &layout;
  const NumericFormat &format;
  const Q8Row row;
  const UnpackedLayout unpacked;
  const bool products; ///< codes are products with their sub-scales
  const bool halves;   ///< dots cover 16 k
  const int zeroPoint; ///< zero point of the values in the dot products
  const bool split = splitsSign(format, k.isa.dot);
  const int64_t groupsOfBlock;
  const VectorType bytes, words;
};

} // namespace

KernelBuilder::Values ingot::codegen::cpu::emitFastLoop(KernelBuilder &k, const Tile &tile,
                                                        const PanelLayout &layout) {
  return FastLoop(k, tile, layout).emit();
}
