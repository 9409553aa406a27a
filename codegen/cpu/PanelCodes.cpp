//===- PanelCodes.cpp - See PanelCodes.h ----------------------------------===//
#include "codegen/cpu/PanelCodes.h"
#include "runtime/formats/WeightPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;

Value PanelCodes::line(const TileRows &rows, Value group, int64_t index) {
  Value from = rows.codesAt(k, group, codeBytesOfGroup(bits) / 2);
  return k.load(bytes, k.at(from, 64 * index), 4 * k.lanes);
}

Value PanelCodes::moved(Value line, int by, int mask) {
  if (by) {
    Value words = k.bitcast(k.vec(k.i16, 2 * k.lanes), line);
    words = by > 0 ? k.shiftLeft(words, by) : k.shiftRight(words, -by);
    line = k.bitcast(bytes, words);
  }
  return k.bitAnd(line, mask);
}

Value PanelCodes::load(const TileRows &rows, Value group, int s) {
  const CodePlace place = codeInGroup(bits, 0, 4 * s); // of one row in its line, and so of all
  Value codes = line(rows, group, place.byte / 64);
  if (bits == 8)
    return codes;
  Value nibbles = moved(codes, -place.bit, 0x0f);
  if (bits == 4)
    return nibbles;
  const int mask = ((1 << (bits - 4)) - 1) << 4;
  Value upper = moved(line(rows, group, place.upperByte / 64), 4 - place.upperBit, mask);
  return arith::OrIOp::create(k.b, nibbles, upper);
}
