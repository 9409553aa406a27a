//===- AttentionItem.cpp - See AttentionItem.h ----------------------------===//
#include "codegen/cpu/AttentionItem.h"
#include "codegen/cpu/Quantize.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;
using kernel::RowKind;

AttentionItem::AttentionItem(KernelBuilder &k, kernel::AttentionOp op)
    : k(k), op(op), headDim(op.getKv().getType().getHeadDim()),
      kvHeads(op.getKv().getType().getKvHeads()), group(op.getHeads() / kvHeads),
      window(op.getWindow()), chunks(roundUp(headDim, kRowLanes) / kRowLanes),
      f32x16(k.vec(k.f32, kRowLanes)), i32x16(k.vec(k.i32, kRowLanes)) {}

void AttentionItem::forEachItem(function_ref<void(Value)> body) {
  Value tiles = k.batchPointer(offsetof(BatchView, attentionTiles));
  Value blockTable = k.batchPointer(offsetof(BatchView, blockTable));
  Value stride = k.batchWord(offsetof(BatchView, blockTableStride));
  k.forEachItem([&](Value item) {
    Value tile = k.at(tiles, k.mul(k.divUnsigned(item, kvHeads), sizeof(AttentionTile)));
    auto field = [&](size_t offset) { return k.widen(k.load(k.i32, k.at(tile, offset)), k.i64); };
    head = k.remUnsigned(item, kvHeads);
    firstToken = field(offsetof(AttentionTile, firstToken)),
    tokens = field(offsetof(AttentionTile, tokens));
    firstPosition = field(offsetof(AttentionTile, firstPosition));
    Value sequence = field(offsetof(AttentionTile, sequence));
    body(k.at(blockTable, k.mul(k.mul(sequence, stride), 4)));
  });
}

void AttentionItem::forEachRow(function_ref<void(Value, Value, Value)> body) {
  k.loop(k.word(0), tokens, k.word(1), [&](Value t) {
    k.loop(0, group, 1, [&](Value g) {
      body(k.add(k.mul(t, group), g), k.add(firstToken, t), k.add(k.mul(head, group), g));
    });
  });
}

Value AttentionItem::queryAt(Value token, Value queryHead) {
  Value from = k.at(k.operand(op.getQ()), k.mul(token, op.getQ().getType().rowBytes()));
  return k.at(from, k.mul(queryHead, headDim * 4));
}

AttentionItem::Start AttentionItem::startOf(Value queryHead, double noScore, double unit,
                                            double weight) {
  if (!op.getSinks())
    return {k.splat(k.f32, noScore), k.splat(f32x16, 0)};
  Value sink = k.load(k.f32, k.at(k.operand(op.getSinks()), k.mul(queryHead, 4)));
  return {k.fmul(sink, k.splat(k.f32, unit)), firstLanes(k, k.splat(f32x16, weight), 1)};
}

void AttentionItem::storeRow(Value token, Value queryHead, ValueRange y) {
  kernel::ActivationType type = op.getOutput().getType();
  Value out = k.at(k.operand(op.getOutput()), k.mul(token, type.rowBytes()));
  if (type.getKind() == RowKind::Q8) {
    Value first = k.mul(queryHead, headDim / kGroupK);
    for (int64_t c = 0; c < chunks; c += 2)
      storeQuantizedGroup(k, registersOf(k, {y[c], y[c + 1]}), out, k.add(first, c / 2),
                          q8Row(type.getN()));
    return;
  }
  Value to = k.at(out, k.mul(queryHead, headDim * 4));
  for (int64_t c = 0; c < chunks; ++c)
    storeFirst(k, y[c], k.at(to, chunkStart(c) * 4), headDim);
}

void AttentionItem::storePadding() {
  kernel::ActivationType type = op.getOutput().getType();
  if (type.getKind() != RowKind::F32 || type.getN() % kPanelRows == 0)
    return;
  k.when(k.equal(head, k.word(kvHeads - 1)), [&] {
    k.loop(k.word(0), tokens, k.word(1), [&](Value t) {
      Value out = k.at(k.operand(op.getOutput()), k.mul(k.add(firstToken, t), type.rowBytes()));
      for (int64_t from = type.getN(); from < roundUp(type.getN(), kPanelRows); from += kRowLanes)
        storeFirst(k, k.splat(f32x16, 0), k.at(out, from * 4),
                   roundUp(type.getN(), kPanelRows) - from);
    });
  });
}
