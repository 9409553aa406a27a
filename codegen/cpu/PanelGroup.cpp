//===- PanelGroup.cpp - See PanelGroup.h ----------------------------------===//
#include "codegen/cpu/PanelGroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

int ingot::codegen::cpu::stepsThatFit(const NumericFormat &format) {
  return std::min(kStepsOfGroup, 32767 / (2 * 127 * format.largest()));
}

/// Returns minus the least value of s * (q - zeroPoint), if adding it makes every such value fit a byte.
static std::optional<int> productZeroOf(const NumericFormat &format) {
  if (format.group != 16 || format.floatSubScales)
    return std::nullopt;
  const int values = 1 << format.subScaleBits;
  const int firstScale = format.hasMin ? 0 : -values / 2, lastScale = firstScale + values - 1;
  const int firstCode = -format.zeroPoint, lastCode = format.largest() - format.zeroPoint;
  const auto [least, most] = std::minmax(
      {firstScale * firstCode, firstScale * lastCode, lastScale * firstCode, lastScale * lastCode});
  return most - least <= 255 ? std::optional(-least) : std::nullopt;
}

UnpackedLayout::UnpackedLayout(const PanelLayout &layout, const Isa &isa)
    : rows(isa.coversPanel ? kPanelRows : isa.lanes), line(4 * rows),
      groups(q8Row(layout.k).groups) {
  const NumericFormat &format = numericFormat(layout.format);
  if (isa.dot == DotKind::Vpdpbusd)
    productZero = productZeroOf(format);
  auto take = [this](int64_t lines) {
    return std::exchange(groupBytes, groupBytes + lines * line);
  };
  take(kStepsOfGroup);
  scaleOffset = take(1);
  if (format.hasMin)
    minimumOffset = take(1);
  if (format.group == 16 && !productZero)
    subScaleOffset = take(2);
  if (format.group == 16 && format.hasMin)
    subMinimumOffset = take(2);
  floatSubScales = format.floatSubScales;
}

//===----------------------------------------------------------------------===//
// From a panel
//===----------------------------------------------------------------------===//

PackedGroup::PackedGroup(KernelBuilder &k, ArrayRef<TileRows> rows, const PanelLayout &layout,
                         Value g)
    : k(k), rows(rows), layout(layout), format(numericFormat(layout.format)), codes(k, layout) {
  const int64_t groupsOfBlock = layout.blockK / kGroupK;
  inBlock = groupsOfBlock == 1 ? k.word(0) : k.remUnsigned(g, groupsOfBlock);
  for (size_t v = 0; v < rows.size(); ++v) {
    if (v && rows[v].panel == rows[v - 1].panel) {
      blocks.push_back(blocks.back()), groups.push_back(groups.back());
      continue;
    }
    blocks.push_back(blockOf(k, layout, rows[v].panel, g));
    groups.push_back(codes.group(blocks[v], inBlock));
  }
}

Value PackedGroup::blockOf(KernelBuilder &k, const PanelLayout &layout, Value panel, Value g) {
  return k.at(panel, k.mul(k.divUnsigned(g, layout.blockK / kGroupK), layout.blockBytes));
}

Value PackedGroup::code(size_t v, int s) { return codes.load(rows[v], groups[v], s); }

Value PackedGroup::signedCode(size_t v, Value line, int s) {
  return codes.loadSigned(rows[v], k.at(groups[v].codes, k.mul(line, kPanelLine)), s);
}

Value PackedGroup::scalesAt(size_t v, int64_t offset, NumericFormat::Scale stored) {
  return codes.scales(rows[v], blocks[v], offset, stored);
}

Value PackedGroup::integers(size_t v, int64_t offset, Value group, int half) {
  return codes.subScales(rows[v], blocks[v], offset, group, half);
}

Value PackedGroup::scaled(size_t v, int64_t offset, int64_t subOffset, Value group) {
  Value sub = k.toFloat(integers(v, subOffset, group, 0));
  return k.fmul(scalesAt(v, offset, format.scale), sub);
}

Value PackedGroup::scale(size_t v) {
  if (layout.subScaleOffset < 0 || format.group == 16)
    return scalesAt(v, layout.scaleOffset, format.scale);
  return scaled(v, layout.scaleOffset, layout.subScaleOffset, inBlock);
}

Value PackedGroup::minimum(size_t v) {
  if (!format.hasMin)
    return Value();
  if (layout.subMinOffset < 0 || format.group == 16)
    return scalesAt(v, layout.minOffset, format.minScale());
  // There is one zero point per block.
  return arith::NegFOp::create(
      k.b, format.hasZeros ? scaled(v, layout.scaleOffset, layout.subMinOffset, k.word(0))
                           : scaled(v, layout.minOffset, layout.subMinOffset, inBlock));
}

Value PackedGroup::subScale(size_t v, int half) {
  if (!format.floatSubScales)
    return integers(v, layout.subScaleOffset, inBlock, half);
  return k.fmul(scalesAt(v, layout.scaleOffset, format.scale),
                codes.floatSubScales(rows[v], blocks[v], layout.subScaleOffset,
                                     k.add(k.mul(inBlock, 2), half)));
}

Value PackedGroup::subMinimum(size_t v, int half) {
  return integers(v, layout.subMinOffset, inBlock, half);
}

//===----------------------------------------------------------------------===//
// From scratch
//===----------------------------------------------------------------------===//

UnpackedGroup::UnpackedGroup(KernelBuilder &k, ArrayRef<TileRows> rows,
                             const UnpackedLayout &layout, Value unpacked, Value g)
    : k(k), layout(layout), bytes(k.vec(k.i8, 4 * k.lanes)) {
  Value group = k.at(unpacked, k.mul(g, layout.groupBytes));
  for (const TileRows &some : rows) {
    Value first = k.at(group, layout.placeOf(some.row));
    groups.push_back(some.part ? k.at(first, k.mul(some.part, layout.partBytes() / layout.rows))
                               : first);
  }
}

/// Maps bytes q, four to each 32-bit lane, to s * (q - zeroPoint) + zero, which fits a byte. s: i32 lanes.
static Value productsOf(KernelBuilder &k, Value q, Value s, int zeroPoint, int zero) {
  VectorType words = k.vec(k.i16, 2 * k.lanes);
  auto twice = [&](Value v) { // in both halves of each lane
    return k.bitcast(words, arith::OrIOp::create(k.b, k.bitAnd(v, 0xffff), k.shiftLeft(v, 16)));
  };
  Value by = twice(s), moved = twice(k.sub(k.splatInt(k.i32s, zero), k.mul(s, zeroPoint)));
  Value pairs = k.bitcast(words, q);
  Value even = k.add(k.mul(k.bitAnd(pairs, 0xff), by), moved);
  Value odd = k.add(k.mul(k.shiftRight(pairs, 8), by), moved);
  return k.bitcast(q.getType(),
                   arith::OrIOp::create(k.b, k.bitAnd(even, 0xff), k.shiftLeft(odd, 8)));
}

void ingot::codegen::cpu::emitUnpackedPanel(KernelBuilder &k, const PanelLayout &layout,
                                            Value panel, Value to) {
  const NumericFormat &format = numericFormat(layout.format);
  const UnpackedLayout unpacked(layout, k.isa);
  SmallVector<TileRows> rows;
  for (int64_t row = 0; row < kPanelRows; row += k.lanes)
    rows.push_back({panel, row, Value()});
  const bool split = splitsSign(format, k.isa.dot);
  k.loop(k.word(0), k.word(unpacked.groups), k.word(1), [&](Value g) {
    PackedGroup from(k, rows, layout, g);
    for (size_t v = 0; v < rows.size(); ++v) {
      Value group = k.at(k.at(to, k.mul(g, unpacked.groupBytes)), unpacked.placeOf(rows[v].row));
      auto store = [&](int64_t offset, Value value) {
        k.store(value, k.at(group, offset), 4 * k.lanes);
      };
      for (int i = 0; i < kStepsOfGroup; ++i) {
        const int s = PanelCodes::step(format, i);
        Value code = split ? from.signedCode(v, k.word(0), s) : from.code(v, s);
        if (unpacked.productZero)
          code =
              productsOf(k, code, from.subScale(v, s / 4), format.zeroPoint, *unpacked.productZero);
        store(s * unpacked.line, code);
      }
      store(unpacked.scaleOffset, from.scale(v));
      if (unpacked.minimumOffset >= 0)
        store(unpacked.minimumOffset, from.minimum(v));
      for (int half = 0; half < 2; ++half) {
        if (unpacked.subScaleOffset >= 0)
          store(unpacked.subScaleOffset + half * unpacked.line, from.subScale(v, half));
        if (unpacked.subMinimumOffset >= 0)
          store(unpacked.subMinimumOffset + half * unpacked.line, from.subMinimum(v, half));
      }
    }
  });
}
