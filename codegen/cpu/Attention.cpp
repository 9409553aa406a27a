//===- Attention.cpp - kernel.attention; see Attention.h ------------------===//
#include "codegen/cpu/Attention.h"
#include "codegen/cpu/AttentionInt8.h"
#include "codegen/cpu/AttentionItem.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/MathApproximation.h"
#include "codegen/cpu/RowwiseLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;
using kernel::KvElement;

AttentionShape::AttentionShape(kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  element = kv.getElement(), headDim = kv.getHeadDim(), kvHeads = kv.getKvHeads();
  elementBytes = kv.elementBytes(), group = op.getHeads() / kvHeads, window = op.getWindow();
  rows = kAttentionTile * group;
  split = element == KvElement::BF16 && headDim % 32 == 0;
  qStride = roundUp(headDim, kRowLanes);
  chunks = qStride / kRowLanes;
  int64_t next = 0;
  auto take = [&](int64_t floats) {
    int64_t at = next;
    next += roundUp(floats * 4, 64);
    return at;
  };
  qOffset = take(rows * qStride), oOffset = take(rows * chunks * kRowLanes),
  lOffset = take(rows * kRowLanes);
  mOffset = take(rows), pOffset = take(kAttentionRows * kPageTokens);
  bytes = next;
}

namespace {

/// Lower than any score; finite (see Attention.h).
constexpr double kNoScore = -1e30;

class AttentionEmitter : AttentionItem {
public:
  AttentionEmitter(KernelBuilder &k, kernel::AttentionOp op)
      : AttentionItem(k, op), shape(op), mostRows(k.isa.registers >= 32 ? kAttentionRows : 2),
        blockChunks(k.isa.registers >= 32 ? 4 : 2) {}

  void emit() {
    forEachItem([&](Value table) {
      emitStart();
      emitPages(table);
      emitFinish();
    });
  }

private:
  Value qAt(Value row) {
    return k.at(k.at(k.scratch, shape.qOffset), k.mul(row, shape.qStride * 4));
  }
  Value oAt(Value row) {
    return k.at(k.at(k.scratch, shape.oOffset), k.mul(row, shape.chunks * 64));
  }
  Value lAt(Value row) { return k.at(k.at(k.scratch, shape.lOffset), k.mul(row, 64)); }
  Value mAt(Value row) { return k.at(k.at(k.scratch, shape.mOffset), k.mul(row, 4)); }
  Value pAt(int64_t rowOfTile) {
    return k.at(k.scratch, shape.pOffset + rowOfTile * kPageTokens * 4);
  }

  /// q of the item to scratch; o = 0, l = 0, m = kNoScore.
  void emitStart() {
    Value zero = k.splat(f32x16, 0);
    forEachRow([&](Value row, Value token, Value queryHead) {
      Value from = queryAt(token, queryHead);
      for (int64_t d = 0; d < shape.headDim; d += kRowLanes)
        k.store(loadFirst(k, k.f32, k.at(from, d * 4), shape.headDim - d), k.at(qAt(row), d * 4),
                64);
      for (int64_t c = 0; c < shape.chunks; ++c)
        k.store(zero, k.at(oAt(row), c * 64), 64);
      k.store(zero, lAt(row), 64);
      k.store(k.splat(k.f32, kNoScore), mAt(row));
    });
  }

  //===--- Pages ------------------------------------------------------------===//

  struct Page {
    Value keys, values;         ///< of this KV head
    Value nextKeys, nextValues; ///< of the page after, to prefetch
    Value start;                ///< first absolute position
    Value written;              ///< positions of it that any row may see: 1 … 32
  };

  void emitPages(Value table) {
    Value lastPosition = k.sub(k.add(firstPosition, tokens), 1);
    Value last = k.divUnsigned(lastPosition, kPageTokens), first = k.word(0);
    if (shape.window)
      first = k.divUnsigned(k.maxSigned(k.add(firstPosition, 1 - shape.window), k.word(0)),
                            kPageTokens);
    int64_t headBytes = shape.headDim * kPageTokens * shape.elementBytes;
    auto keysOf = [&](Value index) {
      Value number = k.widen(k.load(k.i32, k.at(table, k.mul(index, 4))), k.i64);
      Value page = k.at(k.operand(op.getKv()), k.mul(number, op.getKv().getType().pageBytes()));
      return k.at(page, k.mul(head, headBytes));
    };
    k.loop(first, k.add(last, 1), k.word(1), [&](Value index) {
      Page page;
      page.keys = keysOf(index), page.nextKeys = keysOf(k.minSigned(k.add(index, 1), last));
      page.values = k.at(page.keys, shape.kvHeads * headBytes);
      page.nextValues = k.at(page.nextKeys, shape.kvHeads * headBytes);
      page.start = k.mul(index, kPageTokens);
      page.written = k.minSigned(k.add(k.sub(lastPosition, page.start), 1), k.word(kPageTokens));
      emitRows(page);
    });
  }

  /// All rows in register tiles; what is left over in one smaller tile.
  void emitRows(const Page &page) {
    Value rows = k.mul(tokens, shape.group), rest = k.remUnsigned(rows, mostRows);
    Value full = k.sub(rows, rest);
    k.loop(k.word(0), full, k.word(mostRows), [&](Value row) { emitTile(page, row, mostRows); });
    int64_t step = std::gcd(shape.group, mostRows); // rows are a multiple of it
    for (int64_t count = step; count < mostRows; count += step)
      k.when(k.equal(rest, k.word(count)), [&] { emitTile(page, full, count); });
  }

  void emitTile(const Page &page, Value row, int64_t count) {
    Values scores = emitScores(page, row, count), factors;
    for (int64_t r = 0; r < count; ++r)
      factors.push_back(emitSoftmax(page, k.add(row, r), r, scores[2 * r], scores[2 * r + 1]));
    for (int64_t chunk = 0; chunk < shape.chunks; chunk += blockChunks)
      emitValues(page, row, factors, chunk, std::min(blockChunks, shape.chunks - chunk));
  }

  /// q . K as two vectors per row: positions 0-15 and 16-31, or (bf16) even and odd ones.
  Values emitScores(const Page &page, Value row, int64_t count) {
    int64_t unroll = shape.headDim % 4 ? 1 : 4, lineBytes = kPageTokens * shape.elementBytes;
    Value q = qAt(row);
    Values zeros(2 * count, k.splat(f32x16, 0));
    return k.loop(k.word(0), k.word(shape.headDim), k.word(unroll), zeros,
                  [&](Value d, ValueRange carried) {
                    Values sums(carried.begin(), carried.end());
                    Value qD = k.at(q, k.mul(d, 4)), line = k.at(page.keys, k.mul(d, lineBytes));
                    Value nextLine = k.at(page.nextKeys, k.mul(d, lineBytes));
                    for (int64_t u = 0; u < unroll; ++u) {
                      for (int64_t byte = 0; byte < lineBytes; byte += 64)
                        k.prefetch(k.at(nextLine, u * lineBytes + byte));
                      Values keys = loadKeys(k.at(line, u * lineBytes));
                      for (int64_t r = 0; r < count; ++r) {
                        Value one = k.loadSplat(f32x16, k.at(qD, (r * shape.qStride + u) * 4));
                        for (int64_t half = 0; half < 2; ++half)
                          sums[2 * r + half] = k.fma(one, keys[half], sums[2 * r + half]);
                      }
                    }
                    return sums;
                  });
  }

  Values loadKeys(Value line) {
    switch (shape.element) {
    case KvElement::F32:
      return {k.load(f32x16, line, 64), k.load(f32x16, k.at(line, 64), 64)};
    case KvElement::F16: {
      auto halves = k.vec(k.f16, kRowLanes);
      return {k.extend(k.load(halves, line, 32)), k.extend(k.load(halves, k.at(line, 32), 32))};
    }
    case KvElement::BF16:
      return splitBF16(k.load(i32x16, line, 64));
    case KvElement::FP8:  // of GPUs alone
    case KvElement::Int8: // AttentionInt8.h
      break;
    }
    return {};
  }

  /// 32 bf16 as the even and the odd ones.
  Values splitBF16(Value words) {
    return {k.bitcast(f32x16, k.shiftLeft(words, 16)),
            k.bitcast(f32x16, k.bitAnd(words, int32_t(0xffff0000)))};
  }

  /// One row's step of the online softmax: writes p (in order of position), m and l;
  /// returns the factor of o.
  Value emitSoftmax(const Page &page, Value row, int64_t rowOfTile, Value low, Value high) {
    Value position = k.narrow(k.add(firstPosition, k.divUnsigned(row, shape.group)), k.i32);
    Value s[2] = {scaledScore(low), scaledScore(high)};
    for (int64_t half = 0; half < 2; ++half)
      s[half] = k.select(visible(page, position, half), s[half],
                         k.splat(f32x16, -std::numeric_limits<double>::infinity()));
    Value old = k.loadSplat(f32x16, mAt(row)), most = k.fmax(s[0], s[1]);
    for (int64_t distance = kRowLanes / 2; distance; distance /= 2) {
      SmallVector<int64_t> lanes;
      for (int64_t i = 0; i < kRowLanes; ++i)
        lanes.push_back(i ^ distance);
      most = k.fmax(most, shuffle(k, most, most, lanes));
    }
    most = k.fmax(most, old);
    Value factor = emitExp2OfNonPositive(k.b, k.fsub(old, most));
    Value p[2] = {emitExp2OfNonPositive(k.b, k.fsub(s[0], most)),
                  emitExp2OfNonPositive(k.b, k.fsub(s[1], most))};
    k.store(k.lane(most, 0), mAt(row));
    Value l = k.fma(k.load(f32x16, lAt(row), 64), factor, k.fadd(p[0], p[1]));
    k.store(l, lAt(row), 64);
    if (shape.element == KvElement::BF16)
      std::tie(p[0], p[1]) = interleave(p[0], p[1]);
    for (int64_t half = 0; half < 2; ++half)
      k.store(p[half], k.at(pAt(rowOfTile), half * 64), 64);
    return factor;
  }

  /// Scores in units of log2: 2^ is what the softmax takes.
  Value scaledScore(Value dot) {
    constexpr double log2e = 1.44269504088896340736;
    double scale = op.getScale().convertToFloat(), cap = op.getSoftcap().convertToFloat();
    if (cap == 0)
      return k.fmul(dot, k.splat(f32x16, scale * log2e));
    Value bounded = math::TanhOp::create(k.b, k.fmul(dot, k.splat(f32x16, scale / cap)));
    return k.fmul(bounded, k.splat(f32x16, cap * log2e));
  }

  /// Lanes whose position a row at `position` may see.
  Value visible(const Page &page, Value position, int64_t half) {
    SmallVector<int32_t> inPage;
    for (int64_t i = 0; i < kRowLanes; ++i)
      inPage.push_back(shape.element == KvElement::BF16 ? 2 * i + half : kRowLanes * half + i);
    Value offsets =
        arith::ConstantOp::create(k.b, DenseElementsAttr::get(i32x16, ArrayRef<int32_t>(inPage)));
    Value at = k.sub(position, k.narrow(page.start, k.i32)); // of the row, counted from the page
    auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
      return arith::CmpIOp::create(k.b, predicate, offsets, k.broadcast(i32x16, bound));
    };
    Value seen = compare(arith::CmpIPredicate::sle, at);
    if (shape.window)
      seen = arith::AndIOp::create(k.b, seen,
                                   compare(arith::CmpIPredicate::sgt, k.sub(at, shape.window)));
    return seen;
  }

  std::pair<Value, Value> interleave(Value even, Value odd) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < kRowLanes; ++i) {
      low.push_back(i / 2 + i % 2 * kRowLanes);
      high.push_back(i / 2 + kRowLanes / 2 + i % 2 * kRowLanes);
    }
    return {shuffle(k, even, odd, low), shuffle(k, even, odd, high)};
  }

  /// o = o * factor + sum p_j V_j for `count` chunks of the rows.
  void emitValues(const Page &page, Value row, ValueRange factors, int64_t chunk, int64_t count) {
    int64_t rows = factors.size(), lineBytes = shape.headDim * shape.elementBytes;
    Values sums;
    auto place = [&](int64_t r, int64_t c) {
      return k.at(oAt(row), (r * shape.chunks + chunk + c) * 64);
    };
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < count; ++c)
        sums.push_back(k.fmul(k.load(f32x16, place(r, c), 64), factors[r]));
    sums = k.loop(k.word(0), page.written, k.word(1), sums, [&](Value j, ValueRange carried) {
      Values next(carried.begin(), carried.end());
      Value line = k.at(page.values, k.mul(j, lineBytes)),
            nextLine = k.at(page.nextValues, k.mul(j, lineBytes));
      for (int64_t byte = 0; chunk == 0 && byte < lineBytes; byte += 64)
        k.prefetch(k.at(nextLine, byte));
      Values v = loadValues(line, chunk, count);
      for (int64_t r = 0; r < rows; ++r) {
        Value p = k.loadSplat(f32x16, k.at(pAt(r), k.mul(j, 4)));
        for (int64_t c = 0; c < count; ++c)
          next[r * count + c] = k.fma(p, v[c], next[r * count + c]);
      }
      return next;
    });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < count; ++c)
        k.store(sums[r * count + c], place(r, c), 64);
  }

  Values loadValues(Value line, int64_t chunk, int64_t count) {
    Values v;
    int64_t align = std::gcd<int64_t>(shape.headDim * shape.elementBytes, 64);
    if (shape.split) {
      for (int64_t c = chunk; c < chunk + count; c += 2)
        v.append(splitBF16(k.load(i32x16, k.at(line, c * 32), align)));
      return v;
    }
    for (int64_t c = chunk; c < chunk + count; ++c) {
      Value from = k.at(line, chunkStart(c) * shape.elementBytes);
      Type stored = shape.element == KvElement::F32   ? k.f32
                    : shape.element == KvElement::F16 ? k.f16
                                                      : k.i16;
      Value elements = loadFirst(k, stored, from, shape.headDim);
      if (shape.element == KvElement::BF16)
        elements = k.bitcast(k.vec(k.bf16, kRowLanes), elements);
      v.push_back(shape.element == KvElement::F32 ? elements : k.extend(elements));
    }
    return v;
  }

  //===--- The end ----------------------------------------------------------===//

  void emitFinish() {
    forEachRow([&](Value row, Value token, Value queryHead) {
      Value sum = k.broadcast(f32x16, k.sumLanes(k.load(f32x16, lAt(row), 64)));
      Values y;
      for (int64_t c = 0; c < shape.chunks; ++c)
        y.push_back(k.fdiv(k.load(f32x16, k.at(oAt(row), c * 64), 64), sum));
      for (int64_t c = 0; shape.split && c < shape.chunks; c += 2)
        std::tie(y[c], y[c + 1]) = interleave(y[c], y[c + 1]);
      storeRow(token, queryHead, y);
    });
    storePadding();
  }

  AttentionShape shape;
  int64_t mostRows, blockChunks; ///< of the register tile
};

} // namespace

LogicalResult ingot::cpu::emitAttention(KernelBuilder &k, kernel::AttentionOp op) {
  if (op.getKv().getType().getElement() == KvElement::FP8)
    return op.emitOpError("expects a KV pool of f32, bf16, f16 or int8 on CPUs, got ")
           << op.getKv().getType();
  if (op.getKv().getType().getElement() == KvElement::Int8)
    return emitAttentionInt8(k, op);
  AttentionEmitter(k, op).emit();
  return success();
}

int64_t ingot::cpu::attentionScratchBytes(kernel::AttentionOp op) {
  return op.getKv().getType().getElement() == KvElement::Int8 ? AttentionInt8Shape(op).bytes
                                                              : AttentionShape(op).bytes;
}
