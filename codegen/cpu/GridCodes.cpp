//===- GridCodes.cpp - See GridCodes.h ------------------------------------===//
#include "codegen/cpu/GridCodes.h"
#include "codegen/cpu/GridTable.h"
#include "runtime/formats/WeightPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

Value GridCodes::load(const TileRows &rows, const GroupPlace &group, int s) {
  return permutes(grid, k.isa) ? permuted(rows, group, s) : gathered(rows, group, s);
}

Value GridCodes::shared(const TileRows &rows, const GroupPlace &group, Part part, int64_t number,
                        function_ref<Value()> make) {
  Value &value = made[{group.codes.getAsOpaquePointer(), rows.row, part, number}];
  if (!value)
    value = make();
  return value;
}

Value GridCodes::lineAt(const TileRows &rows, const GroupPlace &group, int64_t line) {
  return rows.at(k, k.at(group.codes, kPanelLine * line), 4);
}

/// Returns the address of a line's mask for the rows of a register.
Value GridCodes::maskAt(const TileRows &rows, const GroupPlace &group, int64_t index,
                        int64_t line) {
  Value from = k.at(k.at(group.block, k.mul(group.inBlock, indexLines(grid) * kMaskBytes)),
                    maskInBlock(layout, grid, index, 0, line) + rows.row / 2);
  return rows.part ? k.at(from, k.divUnsigned(rows.part, 2)) : from;
}

/// Returns 1 in each lane in which the row has the group's sign bit set.
Value GridCodes::groupSign(const TileRows &rows, const GroupPlace &group) {
  return shared(rows, group, Part::GroupSign, 0, [&] {
    Value both =
        rows.loadBytes(k, group.block, layout.subScaleOffset, k.divUnsigned(group.inBlock, 2));
    Value by = k.narrow(k.add(k.mul(k.remUnsigned(group.inBlock, 2), 4), 3), k.i32);
    Value bits =
        arith::ShRUIOp::create(k.b, k.widenUnsigned(both, k.i32s), k.broadcast(k.i32s, by));
    return k.bitAnd(bits, 1);
  });
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// Returns the run's bit of mask `index` in bit 0 of each lane.
Value GridCodes::maskBits(const TileRows &rows, const GroupPlace &group, int64_t index,
                          int64_t run) {
  const int64_t line = run / kRunsOfLine;
  Value all = shared(rows, group, Part::Mask, index * indexLines(grid) + line, [&] {
    Value from = maskAt(rows, group, index, line);
    const int64_t words = k.lanes / 8; // a word has the bits of eight rows
    SmallVector<int64_t> ofLane;
    SmallVector<int32_t> shifts;
    for (int64_t lane = 0; lane < k.lanes; ++lane)
      ofLane.push_back(lane / 8), shifts.push_back(int32_t(lane % 8 * kRunsOfLine));
    Value some = k.load(k.vec(k.i32, words), from, 4);
    return Value(arith::ShRUIOp::create(k.b, vector::ShuffleOp::create(k.b, some, some, ofLane),
                                        k.constant(shifts)));
  });
  return k.bitAnd(k.shiftRight(all, run % kRunsOfLine), 1);
}

/// Returns the grid entry of a run, in lanes of 32 bits.
Value GridCodes::entry(const TileRows &rows, const GroupPlace &group, int64_t run) {
  return shared(rows, group, Part::Entry, run, [&] {
    const int64_t line = run / kRunsOfLine, i = run % kRunsOfLine;
    Value indexes = k.load(k.i32s, lineAt(rows, group, line), 4 * k.lanes);
    Value index = k.shiftRight(indexes, 8 * i);
    if (i + 1 < kRunsOfLine)
      index = k.bitAnd(index, 255);
    for (int u = 0; u < grid.upperBits(); ++u)
      index = arith::OrIOp::create(k.b, index, k.shiftLeft(maskBits(rows, group, u, run), 8 + u));
    return k.gather(k.i32s, gridTable(k, format), index);
  });
}

Value GridCodes::gathered(const TileRows &rows, const GroupPlace &group, int s) {
  const int64_t run = runOf(s);
  Value codes = entry(rows, group, run);
  if (grid.run == 8)
    codes = k.bitAnd(k.shiftRight(codes, 4 * (s % 2)), 0x0f0f0f0f);
  Value sign;
  if (grid.signs == GridSigns::Value) {
    Value line =
        k.load(k.vec(k.i16, 2 * k.lanes), lineAt(rows, group, indexLines(grid)), 4 * k.lanes);
    sign = s < 3 ? k.shiftLeft(line, 3 - s) : k.shiftRight(line, s - 3);
    sign = k.bitAnd(k.bitcast(k.i32s, sign), 0x08080808);
  } else {
    Value bit = grid.signs == GridSigns::Group ? groupSign(rows, group)
                                               : maskBits(rows, group, grid.upperBits(), run);
    const auto make = [&] { return k.mul(bit, 0x08080808); };
    sign = grid.signs == GridSigns::Group ? shared(rows, group, Part::RunSigns, 0, make)
                                          : shared(rows, group, Part::RunSigns, run, make);
  }
  return k.lookUp(k.bitcast(bytes, arith::OrIOp::create(k.b, codes, sign)),
                  ArrayRef(format.table, 16));
}

//===----------------------------------------------------------------------===//
// Permutes
//===----------------------------------------------------------------------===//

static constexpr int kMagnitudeAt =
    3; ///< bit of the magnitude in an index of vpermb; the sign is below it

/// Returns table[index] for 64 indexes. Bytes hold the lower seven bits of the indexes. `masks` are the higher bits,
/// the lowest first.
Value GridCodes::lookUp(Value index, ArrayRef<uint8_t> table, ArrayRef<Value> masks) {
  if (table.size() > 128) {
    const size_t half = table.size() / 2;
    Value low = lookUp(index, table.take_front(half), masks.drop_back()),
          high = lookUp(index, table.drop_front(half), masks.drop_back());
    return k.select(masks.back(), high, low);
  }
  return k.intrinsic("llvm.x86.avx512.vpermi2var.qi.512", bytes,
                     {k.constant(table.take_front(64)), index, k.constant(table.drop_front(64))});
}

/// Returns half of an entry's magnitudes in each byte: four of two bits, or two of three bits, one per nibble.
Value GridCodes::magnitudes(const TileRows &rows, const GroupPlace &group, int64_t line,
                            int plane) {
  return shared(rows, group, Part::Planes, 2 * line + plane, [&] {
    Value index = shared(rows, group, Part::Line, line,
                         [&] { return k.load(bytes, lineAt(rows, group, line), 64); });
    SmallVector<Value> masks{k.less(index, k.splatInt(bytes, 0))};
    for (int u = 0; u < grid.upperBits(); ++u)
      masks.push_back(LLVM::BitcastOp::create(k.b, k.vec(k.b.getI1Type(), 64),
                                              k.load(k.i64, maskAt(rows, group, u, line), 8)));
    SmallVector<uint8_t> table;
    const int half = grid.run / 2, bits = 8 / half;
    for (int i = 0; i < grid.count(); ++i) {
      unsigned byte = 0;
      for (int j = 0; j < half; ++j)
        byte |= unsigned(grid.magnitude(i, half * plane + j)) << (bits * j);
      table.push_back(static_cast<uint8_t>(byte));
    }
    return lookUp(index, table, masks);
  });
}

/// For runs of four: returns the bytes of two runs, of both planes, in a 32-bit lane.
Value GridCodes::pairedMagnitudes(const TileRows &rows, const GroupPlace &group, int64_t line,
                                  int half) {
  return shared(rows, group, Part::Planes, 64 + 2 * line + half, [&] {
    Value low = k.bitcast(k.i32s, magnitudes(rows, group, line, 0)),
          high = k.bitcast(k.i32s, magnitudes(rows, group, line, 1));
    Value turned = shared(rows, group, Part::Turned, line, [&] {
      return k.intrinsic("llvm.fshl", k.i32s, {high, high, k.splatInt(k.i32s, 16)});
    });
    // In the second pair (half = 1) the two planes are in the other order.
    Value upper = k.bitcast(bytes, k.splatInt(k.i32s, int64_t(0xffff0000)));
    return k.merge(upper, k.bitcast(bytes, half ? low : turned),
                   k.bitcast(bytes, half ? turned : low));
  });
}

/// Returns eight bits from each of four bit offsets of a lane, in order. Offsets wrap around within two lanes
/// (64 bits).
Value GridCodes::multishift(Value line, ArrayRef<int> offsets) {
  SmallVector<uint8_t> control;
  for (int byte = 0; byte < 4 * k.lanes; ++byte)
    control.push_back(static_cast<uint8_t>((32 * (byte / 4 % 2) + offsets[byte % 4]) & 63));
  return k.intrinsic("llvm.x86.avx512.pmultishift.qb.512", bytes, {k.constant(control), line});
}

/// Sets `bit` and returns bytes that have the signs of step s in that bit.
Value GridCodes::signs(const TileRows &rows, const GroupPlace &group, int s, int &bit) {
  bit = 0;
  if (grid.signs == GridSigns::Group)
    return shared(rows, group, Part::RunSigns, 0,
                  [&] { return k.bitcast(bytes, k.mul(groupSign(rows, group), 0x01010101)); });
  if (grid.signs == GridSigns::Run)
    return shared(rows, group, Part::RunSigns, runOf(s), [&] {
      Value mask = LLVM::BitcastOp::create(
          k.b, k.vec(k.b.getI1Type(), 64),
          k.load(k.i64, maskAt(rows, group, grid.upperBits(), runOf(s) / kRunsOfLine), 8));
      const int at = int(runOf(s) % kRunsOfLine) * 8;
      return multishift(k.widen(mask, bytes), {at, at, at, at});
    });
  bit = s % kMagnitudeAt;
  const int by = s - bit;
  return shared(rows, group, Part::RunSigns, by, [&] {
    Value line = k.load(k.vec(k.i16, 2 * k.lanes), lineAt(rows, group, indexLines(grid)), 64);
    return k.bitcast(bytes, k.shiftRight(line, by));
  });
}

Value GridCodes::permuted(const TileRows &rows, const GroupPlace &group, int s) {
  const int64_t line = runOf(s) / kRunsOfLine;
  const int i = int(runOf(s) % kRunsOfLine);
  Value from;
  SmallVector<int> offsets;
  if (grid.run == 8) {
    from = magnitudes(rows, group, line, s % 2);
    for (int j = 0; j < 4; ++j)
      offsets.push_back(8 * i + 2 * j - kMagnitudeAt);
  } else {
    from = pairedMagnitudes(rows, group, line, i / 2);
    for (int j = 0; j < 4; ++j)
      offsets.push_back(8 * (i % 2) + 16 * (j / 2 ^ i / 2) + 4 * (j % 2) - kMagnitudeAt);
  }
  int bit;
  Value sign = signs(rows, group, s, bit);
  Value codes = k.merge(k.splatInt(bytes, int64_t(1) << bit), sign, multishift(from, offsets));
  SmallVector<uint8_t> numbers;
  for (int byte = 0; byte < 64; ++byte)
    numbers.push_back(
        format.table[(byte >> kMagnitudeAt & ((1 << grid.bits()) - 1)) | (byte >> bit & 1) << 3]);
  return k.intrinsic("llvm.x86.avx512.permvar.qi.512", bytes, {k.constant(numbers), codes});
}
