//===- Gather.cpp - kernel.gather: embedding rows from packed panels ------===//
//
// y[t] = scale * row ids[t] (or positions[t]). The row's codes are stored with 4 consecutive k in one
// 32-bit word per line of its panel (PanelLayout.h), so a group of 32 values takes 4 to 8 loads of a
// word, a few shifts and one conversion. Every operation in the formulas of NumericFormat.h
// rounds once, in f32.
//===----------------------------------------------------------------------===//
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/GridTable.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "dialects/kernel/ops/Rows.h"
#include "runtime/formats/WeightPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

namespace {

class GatherEmitter {
public:
  GatherEmitter(KernelBuilder &k, kernel::GatherOp op)
      : k(k), op(op), type(op.getWeight().getType()), format(type.numeric()),
        layout(kernel::panelLayoutOf(type)), f32x16(k.vec(k.f32, kRowLanes)),
        i32x16(k.vec(k.i32, kRowLanes)), scale(op.getScale().convertToFloat()) {}

  void emit() {
    const bool byPosition = op.getByPosition();
    Value ids =
        k.batchPointer(byPosition ? offsetof(BatchView, positions) : offsetof(BatchView, ids));
    k.forEachItem([&](Value token) {
      Value id = k.widen(k.load(k.i32, k.at(ids, k.mul(token, 4))), k.i64);
      if (byPosition)
        id = k.minSigned(id, k.word(type.rows() - 1));
      row = k.remUnsigned(id, kPanelRows);
      Value panel = k.at(k.operand(op.getWeight()),
                         k.mul(k.divUnsigned(id, kPanelRows), layout.panelBytes()));
      Value out =
          k.at(k.operand(op.getOutput()), k.mul(token, op.getOutput().getType().rowBytes()));
      int64_t padded = roundUp(layout.k, kPanelRows);
      if (format.isFloat()) {
        // Padding comes first, since its vectors may cover values, which are written next.
        emitPadding(out, padded);
        emitFloats(k.at(panel, k.mul(row, format.id == WeightFormat::F16 ? 2 : 4)), out);
      } else if (format.isScaledFloat()) {
        emitPadding(out, padded);
        emitScaledFloats(panel, out);
      } else {
        emitCodes(panel, out);
      }
    });
  }

private:
  using Values = KernelBuilder::Values;

  //===--- Floats: strided, one value (bf16: two) per line ------------------===//

  void emitPadding(Value out, int64_t padded) {
    if (padded != layout.k)
      for (int64_t from = padded - kPanelRows; from < padded; from += kRowLanes)
        k.store(k.splat(f32x16, 0), k.at(out, from * 4), kRowLanes * 4);
  }

  void emitFloats(Value from, Value out) {
    int64_t unroll = 8, full = layout.k / unroll * unroll;
    auto values = [&](Value from, Value out, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        k.store(scaled(floatAt(from, i)), k.at(out, i * 4));
    };
    int64_t bytes = layout.blockBytes / layout.blockK; // bytes per k in this panel
    if (full)
      k.loop(0, full, unroll,
             [&](Value i) { values(k.at(from, k.mul(i, bytes)), k.at(out, k.mul(i, 4)), unroll); });
    values(k.at(from, full * bytes), k.at(out, full * 4), layout.k - full);
  }

  Value floatAt(Value from, int64_t i) {
    if (format.id == WeightFormat::BF16) {
      Value half = k.load(k.i16, k.at(from, i / 2 * layout.blockBytes + i % 2 * 2));
      return k.bitcast(k.f32, k.shiftLeft(k.widenUnsigned(half, k.i32), 16));
    }
    Value value =
        k.load(format.id == WeightFormat::F16 ? k.f16 : k.f32, k.at(from, i * layout.blockBytes));
    return format.id == WeightFormat::F16 ? k.extend(value) : value;
  }

  //===--- Scaled floats: one code per 32 bytes, a scale per block ----------===//

  void emitScaledFloats(Value panel, Value out) {
    int64_t full = layout.k / layout.blockK, rest = layout.k % layout.blockK;
    k.loop(0, full, 1, [&](Value block) { emitScaledBlock(panel, block, out, layout.blockK); });
    if (rest)
      emitScaledBlock(panel, k.word(full), out, rest);
  }

  void emitScaledBlock(Value panel, Value block, Value out, int64_t count) {
    Value start = k.at(panel, k.mul(block, layout.blockBytes));
    // A code moved to the bits of an f16 is 2^-8 of its number (MatmulFp8.cpp).
    Value s = k.fmul(k.load(k.f32, k.at(k.at(start, layout.scaleOffset), k.mul(row, 4))),
                     k.splat(k.f32, 0x1p+8));
    Value to = k.at(out, k.mul(block, layout.blockK * 4)),
          from = k.at(k.at(start, row), layout.codeOffset);
    k.loop(0, count, 1, [&](Value i) {
      Value code = k.load(k.i8, k.at(from, k.mul(i, kPanelRows)));
      k.store(scaled(k.fmul(s, k.partsOfE4M3(code))), k.at(to, k.mul(i, 4)));
    });
  }

  //===--- Codes ------------------------------------------------------------===//

  void emitCodes(Value panel, Value out) {
    int64_t full = layout.k / layout.blockK;
    k.loop(0, full, 1, [&](Value block) {
      emitBlock(k.at(panel, k.mul(block, layout.blockBytes)),
                k.at(out, k.mul(block, layout.blockK * 4)), layout.blockK);
    });
    if (int64_t rest = layout.k - full * layout.blockK)
      emitBlock(k.at(panel, full * layout.blockBytes), k.at(out, full * layout.blockK * 4), rest);
  }

  /// Writes `valid` values of K of one block, and zeros up to the next multiple of 32.
  void emitBlock(Value block, Value out, int64_t valid) {
    Value halves = k.at(block, k.mul(row, 2)), bytes = k.at(block, row);
    Type half = format.minScale() == NumericFormat::Scale::F16 ? k.f16 : k.bf16;
    Value d = scaleAt(block), m;
    if (layout.minOffset >= 0)
      m = k.extend(k.load(half, k.at(halves, layout.minOffset)));
    for (int64_t from = 0; from < valid; from += kGroupK) {
      Values q = unpack(block, from / kGroupK);
      for (int64_t at16 = 0; at16 < kGroupK; at16 += kRowLanes) {
        int64_t left = valid - from - at16;
        Value value = k.splat(f32x16, 0);
        if (left > 0)
          value = firstLanes(
              k, scaled(dequantize(q[at16 / kRowLanes], d, m, bytes, (from + at16) / format.group)),
              left);
        k.store(value, k.at(out, (from + at16) * 4), kRowLanes * 4);
      }
    }
  }

  /// Applies the formulas of NumericFormat.h to 16 codes of sub-block `group`.
  Value dequantize(Value q, Value d, Value m, Value bytes, int64_t group) {
    if (format.zeroPoint)
      q = k.sub(q, k.splatInt(i32x16, format.zeroPoint));
    if (format.hasZeros) {
      Value zero = k.widenUnsigned(k.load(k.i8, k.at(bytes, layout.subMinOffset)), k.i32);
      q = k.sub(q, k.broadcast(i32x16, zero));
    }
    Value value = k.toFloat(q), scale = d, min = m;
    if (format.kind == NumericFormat::Kind::SuperAffine) {
      scale = k.fmul(d, format.grid ? subScaleOfNibble(bytes, group)
                                    : subScale(bytes, layout.subScaleOffset + group * kPanelRows));
      if (m)
        min = k.fmul(m, subScale(bytes, layout.subMinOffset + group * kPanelRows));
    }
    value = k.fmul(k.broadcast(f32x16, scale), value);
    if (!m)
      return value;
    min = k.broadcast(f32x16, min);
    return format.kind == NumericFormat::Kind::SuperAffine ? k.fsub(value, min)
                                                           : k.fadd(value, min);
  }
  /// Loads d of the row.
  Value scaleAt(Value block) {
    using Scale = NumericFormat::Scale;
    Value from = k.at(k.at(block, k.mul(row, format.scaleBytes())), layout.scaleOffset);
    if (format.scale == Scale::F32)
      return k.load(k.f32, from);
    if (format.scale == Scale::F16)
      return k.extend(k.load(k.f16, from));
    return k.bitcast(k.f32, k.shiftLeft(k.widenUnsigned(k.load(k.i16, from), k.i32), 16));
  }
  Value subScale(Value bytes, int64_t offset) { // signed if the format has no minimum
    Value s = k.load(k.i8, k.at(bytes, offset));
    if (format.floatSubScales)
      return k.fmul(k.partsOfE4M3(s), k.splat(k.f32, 0x1p+8));
    return k.toFloat(format.hasMin ? k.widenUnsigned(s, k.i32) : k.widen(s, k.i32));
  }

  /// Returns nibble `group` of the row, shifted right by `first` bits.
  Value nibble(Value bytes, int64_t group, int64_t first = 0) {
    Value pair = k.load(k.i8, k.at(bytes, layout.subScaleOffset + group / 2 * kPanelRows));
    return k.shiftRight(k.widenUnsigned(pair, k.i32), group % 2 * 4 + first);
  }
  Value subScaleOfNibble(Value bytes, int64_t group) {
    Value u = k.bitAnd(nibble(bytes, group), nibbleMask(format));
    return k.toFloat(k.add(k.shiftLeft(u, 1), 1));
  }

  /// Returns codes k 0-15 and 16-31 of group g of a block, as i32.
  Values unpack(Value block, int64_t g) {
    Value from = k.at(k.at(block, k.mul(row, 4)), groupInBlock(layout, format, g));
    switch (format.packing) {
    case NumericFormat::Packing::Planes:
      break;
    case NumericFormat::Packing::Bit1:
      return {k.shiftLeft(bitsOf(k.load(k.i32, from), 0), 1),
              k.shiftLeft(bitsOf(k.load(k.i32, from), 1), 1)};
    case NumericFormat::Packing::Trits:
      return {trits(from, g, 0), trits(from, g, 1)};
    case NumericFormat::Packing::Grid:
      return {entries(block, from, g, 0), entries(block, from, g, 1)};
    }
    return planes(from);
  }

  /// Returns bit k / 4 of byte k % 4 of a word, for each k of half a group.
  Value bitsOf(Value word, int64_t half) {
    Values each(kRowLanes / 4, word);
    SmallVector<int32_t> shifts;
    for (int64_t i = 0; i < kRowLanes; ++i)
      shifts.push_back(static_cast<int32_t>((half * kRowLanes + i) / 4));
    return k.bitAnd(shifted(bytesOf(each), shifts), 1);
  }
  Value shifted(Value v, ArrayRef<int32_t> by) {
    return arith::ShRUIOp::create(k.b, v, k.constant(by));
  }

  /// Returns the digits in base 3 of half a group.
  Value trits(Value from, int64_t g, int64_t half) {
    Values words, fifths;
    SmallVector<int32_t> shifts, fifthShifts, fifthBits, fractions, rests;
    for (int64_t s = 4 * half; s < 4 * half + 4; ++s) {
      const TritPlace place = tritStep(g, s);
      words.push_back(k.load(k.i32, k.at(from, place.byte)));
      fifths.push_back(k.load(k.i32, from));
      shifts.append(4, place.bit);
      fifthShifts.append(4, place.fifth.bit);
      fifthBits.append(4, place.fifth.byte < 0 ? 0 : 16);
      fractions.append(4, 65536 / place.weight + 1); // rounded up: exact for values this small
      rests.append(4, 65536 / (3 * place.weight) + 1);
    }
    Value number = k.bitAnd(shifted(bytesOf(words), shifts), 15);
    Value fifth = k.shiftLeft(shifted(bytesOf(fifths), fifthShifts), 4);
    number =
        arith::OrIOp::create(k.b, number, arith::AndIOp::create(k.b, fifth, k.constant(fifthBits)));
    Value whole = k.shiftRight(k.mul(number, k.constant(fractions)), 16),
          third = k.shiftRight(k.mul(number, k.constant(rests)), 16);
    return k.sub(whole, k.mul(third, k.splatInt(i32x16, 3)));
  }

  /// Returns the values of half a group of a grid format, by index. `from` is the row's word in the group's first line.
  Value entries(Value block, Value from, int64_t g, int64_t half) {
    const Grid &grid = *format.grid;
    const int64_t runs = kRowLanes / grid.run;
    Value table = gridTable(k, format), halfRow = k.divUnsigned(row, 2),
          inByte = k.narrow(k.mul(k.remUnsigned(row, 2), kRunsOfLine), k.i32);
    auto maskBit = [&](int64_t index, int64_t run) {
      const int64_t at = maskInBlock(layout, grid, index, g, run / kRunsOfLine);
      Value byte = k.widenUnsigned(k.load(k.i8, k.at(k.at(block, halfRow), at)), k.i32);
      Value bits = arith::ShRUIOp::create(k.b, byte, inByte);
      return k.bitAnd(k.shiftRight(bits, run % kRunsOfLine), 1);
    };
    Values words, runSigns;
    for (int64_t run = half * runs; run < (half + 1) * runs; ++run) {
      Value low = k.load(k.i8, k.at(from, kPanelLine * (run / kRunsOfLine) + run % kRunsOfLine));
      Value index = k.widenUnsigned(low, k.i32);
      for (int u = 0; u < grid.upperBits(); ++u)
        index = arith::OrIOp::create(k.b, index, k.shiftLeft(maskBit(u, run), 8 + u));
      words.push_back(k.load(k.i32, k.at(table, k.mul(k.widenUnsigned(index, k.i64), 4))));
      if (grid.signs == GridSigns::Run)
        runSigns.push_back(maskBit(grid.upperBits(), run));
    }
    SmallVector<int32_t> shifts;
    for (int64_t i = 0; i < kRowLanes; ++i)
      shifts.push_back(static_cast<int32_t>(8 * (i % 4) + i % grid.run / 4 * 4));
    Value codes = k.bitAnd(shifted(ofRuns(words), shifts), (1 << grid.bits()) - 1), sign;
    if (grid.signs == GridSigns::Value)
      sign = bitsOf(k.load(k.i32, k.at(from, kPanelLine * indexLines(grid))), half);
    else if (grid.signs == GridSigns::Run)
      sign = ofRuns(runSigns);
    else
      sign = k.broadcast(i32x16, k.bitAnd(nibble(k.at(block, row), g, 3), 1));
    return numbers(arith::OrIOp::create(k.b, codes, k.shiftLeft(sign, 3)));
  }
  /// Broadcasts each word to the lanes of its run.
  Value ofRuns(ArrayRef<Value> words) {
    const auto count = static_cast<int64_t>(words.size());
    Value some = vector::FromElementsOp::create(k.b, k.vec(k.i32, count), words);
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < kRowLanes; ++i)
      lanes.push_back(i * count / kRowLanes);
    return vector::ShuffleOp::create(k.b, some, some, lanes);
  }
  Value numbers(Value codes) {
    return k.widenUnsigned(
        k.lookUp(k.narrow(codes, k.vec(k.i8, kRowLanes)), ArrayRef(format.table, 16)), i32x16);
  }

  /// Returns the values of a group that stores its codes in bit planes. `from` is the row's word in the first line.
  Values planes(Value from) {
    auto line = [&](int64_t i) { return k.load(k.i32, k.at(from, i * kPanelLine)); };
    if (format.bits == 8)
      return {bytesOf({line(0), line(1), line(2), line(3)}),
              bytesOf({line(4), line(5), line(6), line(7)})};
    const int low = lowBitsOf(format.bits);
    Values q;
    if (low == 4) {
      const int64_t first = upperBitsOf(format.bits); // after the lines of upper bits
      Value both = bytesOf({line(first), line(first + 1), line(first + 2), line(first + 3)});
      q = {k.bitAnd(both, 15), k.shiftRight(both, 4)};
    }
    for (int64_t half = 0; half < 2; ++half) {
      // Planes of one or two bits: byte i of a word holds the bits of k = 4s+i.
      auto parts = [&](int bits, int64_t byte, auto bitOf) {
        Value word = line(byte / kPanelLine);
        SmallVector<int32_t> shifts;
        for (int64_t i = 0; i < kRowLanes; ++i)
          shifts.push_back(bitOf(codeInGroup(format.bits, 0, half * kRowLanes + i)));
        return k.bitAnd(shifted(bytesOf({word, word, word, word}), shifts), (1 << bits) - 1);
      };
      const CodePlace first = codeInGroup(format.bits, 0, half * kRowLanes);
      if (low == 2)
        q.push_back(parts(low, first.byte, [](const CodePlace &place) { return place.bit; }));
      if (first.upperByte < 0)
        continue;
      Value upper = parts(upperBitsOf(format.bits), first.upperByte,
                          [](const CodePlace &place) { return place.upperBit; });
      q[half] = arith::OrIOp::create(k.b, q[half], k.shiftLeft(upper, low));
    }
    if (format.table)
      for (Value &codes : q)
        codes = numbers(codes);
    return q;
  }
  /// Returns the 16 bytes of four words, zero-extended.
  Value bytesOf(ArrayRef<Value> words) {
    Value four = vector::FromElementsOp::create(k.b, k.vec(k.i32, 4), words);
    return k.widenUnsigned(k.bitcast(k.vec(k.i8, kRowLanes), four), i32x16);
  }

  Value scaled(Value v) { return scale == 1.0f ? v : k.fmul(v, k.splat(v.getType(), scale)); }

  KernelBuilder &k;
  kernel::GatherOp op;
  lm::WeightType type;
  const NumericFormat &format;
  PanelLayout layout;
  VectorType f32x16, i32x16;
  float scale;
  Value row; ///< index in the panel
};

} // namespace

LogicalResult ingot::codegen::cpu::emitGather(KernelBuilder &k, kernel::GatherOp op) {
  GatherEmitter(k, op).emit();
  return success();
}
