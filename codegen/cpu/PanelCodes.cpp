//===- PanelCodes.cpp - See PanelCodes.h ----------------------------------===//
#include "codegen/cpu/PanelCodes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;

Value PanelCodes::line(const TileRows &rows, Value group, int index) {
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
  if (bits == 8)
    return line(rows, group, s);
  Value nibbles = moved(line(rows, group, s % 4), s < 4 ? 0 : -4, 0x0f);
  if (bits == 4)
    return nibbles;
  Value upper = bits == 5 ? moved(line(rows, group, 4), 4 - s, 0x10)
                          : moved(line(rows, group, 4 + s / 4), 4 - 2 * (s % 4), 0x30);
  return arith::OrIOp::create(k.b, nibbles, upper);
}
