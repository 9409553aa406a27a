//===- AttentionItem.cpp - See AttentionItem.h ----------------------------===//
#include "codegen/cpu/AttentionItem.h"
#include "codegen/cpu/Quantize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;
using kernel::RowKind;

AttentionItem::AttentionItem(KernelBuilder &k, kernel::AttentionOp op, const AttentionState &state)
    : k(k), op(op), headDim(op.getKv().getType().getHeadDim()),
      kvHeads(op.getKv().getType().getKvHeads()), group(op.getHeads() / kvHeads),
      window(op.getWindow()), chunks(roundUp(headDim, kRowLanes) / kRowLanes),
      f32x16(k.vec(k.f32, kRowLanes)), i32x16(k.vec(k.i32, kRowLanes)), state(state) {}

void AttentionItem::forEachItem(function_ref<void()> body) {
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
    table = k.at(blockTable, k.mul(k.mul(sequence, stride), 4));
    body();
  });
}

void AttentionItem::forEachRow(function_ref<void(Value, Value, Value)> body) {
  k.loop(k.word(0), tokens, k.word(1), [&](Value t) {
    k.loop(0, group, 1, [&](Value g) {
      body(k.add(k.mul(t, group), g), k.add(firstToken, t), k.add(k.mul(head, group), g));
    });
  });
}

KernelBuilder::Values AttentionItem::loadQuery(Value token, Value queryHead) {
  Value row = k.at(k.operand(op.getQ()), k.mul(token, op.getQ().getType().rowBytes()));
  Value from = k.at(row, k.mul(queryHead, headDim * 4));
  Values q;
  for (int64_t d = 0; d < headDim; d += kRowLanes)
    q.push_back(loadFirst(k, k.f32, k.at(from, d * 4), headDim - d));
  return q;
}

void AttentionItem::startRow(Value row, Value queryHead, double unit, double weight) {
  for (int64_t c = 0; c < chunks; ++c)
    k.store(k.splat(f32x16, 0), k.at(oAt(row), c * kVectorBytes), 64);
  Value m = k.splat(k.f32, kNoScore), l = k.splat(f32x16, 0);
  if (op.getSinks()) {
    Value sink = k.load(k.f32, k.at(k.operand(op.getSinks()), k.mul(queryHead, 4)));
    m = k.fmul(sink, k.splat(k.f32, unit));
    l = firstLanes(k, k.splat(f32x16, weight), 1);
  }
  k.store(l, lAt(row), 64);
  k.store(m, mAt(row));
}

Value AttentionItem::firstSeenPosition() {
  return window ? k.maxSigned(k.add(firstPosition, 1 - window), k.word(0)) : k.word(0);
}

void AttentionItem::forEachBlock(Value firstSeen, function_ref<void(Value)> body) {
  Value last = k.divUnsigned(lastPosition, kAttentionBlock);
  k.loop(k.divUnsigned(firstSeen, kAttentionBlock), k.add(last, 1), k.word(1), body);
}

Value AttentionItem::seesAll(Value blockStart) {
  Value all = k.less(k.add(blockStart, kAttentionBlock - 2), firstPosition);
  if (window)
    all = arith::AndIOp::create(k.b, all, k.less(k.sub(lastPosition, window), blockStart));
  return all;
}

Value AttentionItem::visible(Value positions, Value last, function_ref<Value()> after) {
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
    return arith::CmpIOp::create(k.b, predicate, positions, k.broadcast(i32x16, bound));
  };
  Value seen = compare(arith::CmpIPredicate::sle, last);
  if (window)
    seen = arith::AndIOp::create(k.b, seen, compare(arith::CmpIPredicate::sgt, after()));
  return seen;
}

Value AttentionItem::pageAt(Value index) {
  Value number = k.widen(k.load(k.i32, k.at(table, k.mul(index, 4))), k.i64);
  return k.at(k.operand(op.getKv()), k.mul(number, op.getKv().getType().pageBytes()));
}

void AttentionItem::finishRows(function_ref<void(Values &)> order) {
  forEachRow([&](Value row, Value token, Value queryHead) {
    Value sum = k.broadcast(f32x16, k.sumLanes(k.load(f32x16, lAt(row), 64)));
    Values y;
    for (int64_t c = 0; c < chunks; ++c)
      y.push_back(k.fdiv(k.load(f32x16, k.at(oAt(row), c * kVectorBytes), 64), sum));
    if (order)
      order(y);
    storeRow(token, queryHead, y);
  });
  storePadding();
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
