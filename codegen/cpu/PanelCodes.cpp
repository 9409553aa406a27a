//===- PanelCodes.cpp - See PanelCodes.h ----------------------------------===//
#include "codegen/cpu/PanelCodes.h"
#include "runtime/formats/WeightPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

Value PanelCodes::line(const TileRows &rows, Value group, int64_t index) {
  return k.load(bytes, k.at(rows.at(k, group, 4), kPanelLine * index), 4 * k.lanes);
}

Value PanelCodes::moved(Value line, int by, int mask) {
  if (by) {
    Value words = k.bitcast(k.vec(k.i16, 2 * k.lanes), line);
    words = by > 0 ? k.shiftLeft(words, by) : k.shiftRight(words, -by);
    line = k.bitcast(bytes, words);
  }
  return k.bitAnd(line, mask);
}

GroupPlace PanelCodes::group(Value block, Value inBlock) {
  const bool shared =
      format.packing == NumericFormat::Packing::Trits; // other groups are in the same lines
  Value first = shared ? k.mul(k.divUnsigned(inBlock, kTritGroups), kTritGroups) : inBlock;
  return {block, inBlock,
          k.at(k.at(block, k.mul(first, layout.groupCodeBytes)), layout.codeOffset)};
}

Value PanelCodes::codes(const TileRows &rows, Value group, int s) {
  const CodePlace place =
      codeInGroup(bits, 0, 4 * s); // of row 0; the same in the words of all rows
  Value codes = line(rows, group, place.byte / kPanelLine);
  if (bits == 8)
    return codes;
  const int low = lowBitsOf(bits);
  Value lower = moved(codes, -place.bit, (1 << low) - 1);
  if (bits == low)
    return lower;
  const int mask = ((1 << upperBitsOf(bits)) - 1) << low;
  Value upper = moved(line(rows, group, place.upperByte / kPanelLine), low - place.upperBit, mask);
  return arith::OrIOp::create(k.b, lower, upper);
}

/// Returns bytes with the digits of a group's number (PanelLayout.h), two bits each.
Value PanelCodes::digits(const TileRows &rows, const GroupPlace &group, int number) {
  Value &made = digitsOf[{group.codes.getAsOpaquePointer(), rows.row, number}];
  if (made)
    return made;
  const VectorType words = k.vec(k.i16, 2 * k.lanes);
  Value shared = k.remUnsigned(group.inBlock, kTritGroups);
  auto lineAt = [&](Value index) {
    return line(rows, k.at(group.codes, k.mul(index, kPanelLine)), 0);
  };
  auto shifted = [&](Value line, Value by) {
    return k.bitcast(bytes, arith::ShRUIOp::create(k.b, k.bitcast(words, line),
                                                   k.broadcast(words, k.narrow(by, k.i16))));
  };
  SmallVector<uint8_t> table;
  for (int value = 0; value < 32; ++value)
    table.push_back(
        uint8_t(value % 3 | value / 3 % 3 << 2 | (number < 2 ? value / 9 % 3 << 4 : 0)));
  if (number == 2) {
    // tritLineOfLast
    Value pair = lineAt(k.add(k.mul(k.divUnsigned(shared, 2), 3), 2));
    Value nibble = shifted(pair, k.mul(k.remUnsigned(shared, 2), 4));
    return made = k.lookUp(k.bitAnd(nibble, 15), ArrayRef(table).take_front(16));
  }
  // The fifth bits of both numbers are in the lowest places.
  Value fifth = shifted(line(rows, group.codes, 0), k.mul(shared, 2));
  Value ofPair = k.divUnsigned(k.add(k.mul(shared, 3), 3), 2); // tritLineOfPair
  Value nibble = moved(lineAt(ofPair), -4 * number, 15);
  return made = k.lookUpOf5Bits(nibble, moved(fifth, 7 - number, -128), table);
}

Value PanelCodes::trits(const TileRows &rows, const GroupPlace &group, int s) {
  return moved(digits(rows, group, s / 3), -2 * (s % 3), 3);
}

Value PanelCodes::load(const TileRows &rows, const GroupPlace &group, int s) {
  switch (format.packing) {
  case NumericFormat::Packing::Planes:
    break;
  case NumericFormat::Packing::Bit1: // the line has no other bits
    return moved(line(rows, group.codes, 0), 1 - s, 2);
  case NumericFormat::Packing::Trits:
    return trits(rows, group, s);
  case NumericFormat::Packing::Grid:
    return grid->load(rows, group, s);
  }
  Value q = codes(rows, group.codes, s);
  return format.table ? k.lookUp(q, ArrayRef(format.table, 16)) : q;
}

Value PanelCodes::loadSigned(const TileRows &rows, Value from, int s) {
  Value q = codes(rows, from, s);
  if (!format.table)
    return arith::XOrIOp::create(k.b, q, k.splatInt(bytes, -128));
  SmallVector<uint8_t> table(format.table, format.table + 16);
  for (uint8_t &number : table)
    number ^= 128;
  return k.lookUp(q, table);
}

Value PanelCodes::scales(const TileRows &rows, Value block, int64_t offset,
                         NumericFormat::Scale stored) {
  using Scale = NumericFormat::Scale;
  const int64_t bytes = stored == Scale::F32 ? 4 : 2;
  Value from = rows.at(k, k.at(block, offset), bytes);
  if (stored == Scale::F32)
    return k.load(k.f32s, from, bytes * k.lanes);
  Type element = stored == Scale::F16 ? k.f16 : k.bf16;
  return k.extend(k.load(k.vec(element, k.lanes), from, bytes * k.lanes));
}

Value PanelCodes::subScales(const TileRows &rows, Value block, int64_t offset, Value inBlock,
                            int half) {
  const int halves = format.group == 16 ? 2 : 1;
  auto bytesOf = [&](Value index) { return rows.loadBytes(k, block, offset, index); };
  if (!format.grid) {
    Value stored = bytesOf(k.add(k.mul(inBlock, halves), half));
    return format.hasMin ? k.widenUnsigned(stored, k.i32s) : k.widen(stored, k.i32s);
  }
  Value nibbles = k.widenUnsigned(bytesOf(k.divUnsigned(inBlock, 2 / halves)), k.i32s);
  if (halves == 2)
    nibbles = k.shiftRight(nibbles, 4 * half);
  else
    nibbles = arith::ShRUIOp::create(
        k.b, nibbles, k.broadcast(k.i32s, k.narrow(k.mul(k.remUnsigned(inBlock, 2), 4), k.i32)));
  Value twice = k.shiftLeft(k.bitAnd(nibbles, nibbleMask(format)), 1);
  return arith::OrIOp::create(k.b, twice, k.splatInt(k.i32s, 1));
}

Value PanelCodes::floatSubScales(const TileRows &rows, Value block, int64_t offset, Value index) {
  return k.fmul(k.partsOfE4M3(rows.loadBytes(k, block, offset, index)), k.splat(0x1p+8));
}
