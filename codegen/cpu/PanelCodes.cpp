//===- PanelCodes.cpp - See PanelCodes.h ----------------------------------===//
#include "codegen/cpu/PanelCodes.h"
#include "runtime/formats/WeightPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;

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

Value PanelCodes::codes(const TileRows &rows, Value group, int s) {
  const CodePlace place = codeInGroup(bits, 0, 4 * s); // of one row in its line, and so of all
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

Value PanelCodes::load(const TileRows &rows, Value group, int s) {
  Value q = codes(rows, group, s);
  return format.table ? k.lookUp(q, ArrayRef(format.table, 16)) : q;
}

Value PanelCodes::loadSigned(const TileRows &rows, Value group, int s) {
  Value q = codes(rows, group, s);
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

Value PanelCodes::floatSubScales(const TileRows &rows, Value block, int64_t offset, Value index) {
  Value from = k.at(k.at(block, k.mul(index, kPanelRows)), offset);
  Value stored = k.load(k.vec(k.i8, k.lanes), rows.at(k, from, 1), k.lanes);
  return k.fmul(k.partsOfE4M3(stored), k.splat(0x1p+8));
}
