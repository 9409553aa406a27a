//===- Attention.cpp - kernel.attention; see Attention.h ------------------===//
#include "codegen/cpu/Attention.h"
#include "codegen/cpu/AttentionInt8.h"
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/Hadamard.h"
#include "codegen/cpu/MathApproximation.h"
#include "dialects/kernel/ops/Attention.h"
#include "runtime/formats/KvInt4.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

AttentionShape::AttentionShape(kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  element = kv.getFormat();
  split = element == KvFormat::BF16 && kv.getHeadDim() % 32 == 0;
  qStride = roundUp(kv.getHeadDim(), kRowLanes);
  const int64_t rows = kAttentionTile * (op.getHeads() / kv.getKvHeads());
  int64_t next = 0;
  auto take = [&](int64_t floats) {
    int64_t at = next;
    next += roundUp(floats * 4, 64);
    return at;
  };
  qOffset = take(rows * qStride);
  state.o = take(rows * qStride), state.l = take(rows * kRowLanes);
  state.m = take(rows + kRowLanes), sOffset = take(kFloatRows * kAttentionBlock);
  factorsOffset = take(kRowLanes);
  bytes = next;
}

namespace {

class AttentionEmitter : AttentionItem {
public:
  AttentionEmitter(KernelBuilder &k, kernel::AttentionOp op)
      : AttentionItem(k, op, AttentionShape(op).state), shape(op),
        mostRows(k.isa.registers >= 32 ? kFloatRows : 2), mostSums(k.isa.registers >= 32 ? 24 : 4) {
  }

  void emit() {
    forEachItem([&] {
      emitStart();
      emitBlocks();
      emitFinish();
    });
  }

private:
  Value qAt(Value row) { return scratch(shape.qOffset, row, shape.qStride * 4); }
  /// Returns the address of the scores (later: weights) of a row of the register tile, starting at position `byte
  /// / 4` of the block.
  Value sAt(Value rowOfTile, Value byte) {
    return k.at(scratch(shape.sOffset, rowOfTile, kAttentionBlock * 4), byte);
  }
  Value factorOf(Value rowOfTile) {
    return k.loadSplat(f32x16, scratch(shape.factorsOffset, rowOfTile, 4));
  }

  /// Copies q of the item to scratch. Initialises o to 0, and m and l of the softmax.
  void emitStart() {
    forEachRow([&](Value row, Value token, Value queryHead) {
      Values q = loadQuery(token, queryHead);
      if (isInt4())
        q = hadamard(k, q, headDim);
      for (auto [c, v] : llvm::enumerate(q))
        k.store(v, k.at(qAt(row), int64_t(c) * kVectorBytes), 64);
      startRow(row, queryHead, kLog2E, 1);
    });
  }

  /// Returns the factor that converts scores to units of log2, since the softmax uses 2^.
  Value toLog2() {
    double scale = op.getScale().convertToFloat();
    return k.splat(f32x16, kLog2E * (softcap() == 0 ? scale : softcap()));
  }

  //===--- Blocks -----------------------------------------------------------===//

  struct Block {
    Value page;     ///< index of its first page
    Value start;    ///< first absolute position
    Value from, to; ///< range of its pages that some row may see at least in part
    Value unseen;  ///< window: positions of the block before the first visible one; may be negative
    Value written; ///< end of the positions that some row may see; may be past the block's end
    Value seesAll; ///< i1: whether all rows see all of it
  };

  void emitBlocks() {
    lastPosition = k.sub(k.add(firstPosition, tokens), 1);
    Value firstSeen = firstSeenPosition();
    lastPage = k.divUnsigned(lastPosition, kPageTokens);
    firstPage = k.divUnsigned(firstSeen, kPageTokens);
    forEachBlock(firstSeen, [&](Value index) {
      Block block;
      block.page = k.mul(index, kPagesOfBlock), block.start = k.mul(index, kAttentionBlock);
      block.from = window ? k.maxSigned(k.sub(firstPage, block.page), k.word(0)) : k.word(0);
      block.to = k.minSigned(k.add(k.sub(lastPage, block.page), 1), k.word(kPagesOfBlock));
      if (window)
        block.unseen = k.sub(firstSeen, block.start);
      block.written = k.add(k.sub(lastPosition, block.start), 1);
      block.seesAll = seesAll(block.start);
      emitRows(block);
    });
  }

  bool isInt4() const { return shape.element == KvFormat::Int4; }
  /// Returns page number `index`, clamped to the first and last page that the item sees.
  Value pageOf(Value index) {
    return pageAt(k.minSigned(window ? k.maxSigned(index, firstPage) : index, lastPage));
  }

  /// Emits all rows in register tiles, and the remainder in smaller ones.
  void emitRows(const Block &block) {
    Value rows = k.mul(tokens, group), done = k.word(0);
    int64_t least = mostRows > 6 ? 6 : mostRows;
    for (int64_t count = mostRows; count >= least; count /= 2) {
      Value rest = k.remUnsigned(k.sub(rows, done), count), full = k.sub(rows, rest);
      k.loop(done, full, k.word(count), [&](Value row) { emitTile(block, row, count); });
      done = full;
    }
    Value rest = k.sub(rows, done);
    int64_t step = std::gcd(group, least); // rows are a multiple of it
    for (int64_t count = step; count < least; count += step)
      k.when(k.equal(rest, k.word(count)), [&] { emitTile(block, done, count); });
  }

  void emitTile(const Block &block, Value row, int64_t count) {
    emitFactors(row, emitScores(block, row, count));
    emitWeights(block, row, count);
    int64_t size = std::min(std::max<int64_t>(mostSums / count, 1), chunks);
    if (shape.split)
      size = std::max<int64_t>(size / 2 * 2, 2);
    for (int64_t chunk = 0; chunk < chunks; chunk += size)
      emitValues(block, row, count, chunk, std::min(size, chunks - chunk));
  }

  //===--- q . K ------------------------------------------------------------===//

  /// Returns the number of pages that are multiplied at once, as many as fill the registers with sums.
  int64_t pagesOfUnit(int64_t count) {
    int64_t pages = kPagesOfBlock;
    while (pages > 1 && 2 * count * pages > mostSums)
      pages /= 2;
    return pages;
  }
  /// Calls body(first page, carried values) for each unit of `pages` pages of the block.
  Values forEachUnit(const Block &block, int64_t pages, ValueRange init,
                     KernelBuilder::CarriedBody body) {
    Value from = k.sub(block.from, k.remUnsigned(block.from, pages));
    return k.loop(from, block.to, k.word(pages), init, body);
  }

  /// Writes scores to scratch. Returns the maxima of the rows, lane by lane.
  Values emitScores(const Block &block, Value row, int64_t count) {
    int64_t pages = pagesOfUnit(count), vectors = 2 * pages;
    Value lowest = k.splat(f32x16, -std::numeric_limits<double>::infinity());
    return forEachUnit(block, pages, Values(count, lowest), [&](Value p, ValueRange carried) {
      Values most(carried.begin(), carried.end());
      Values scores = emitDots(block, row, count, p, pages);
      for (Value &score : scores)
        score = cappedScore(score);
      scores = k.choose(
          block.seesAll, [&] { return scores; },
          [&] {
            Values seen;
            Value start = k.add(block.start, k.mul(p, kPageTokens));
            for (int64_t r = 0; r < count; ++r) {
              Value position = k.add(firstPosition, k.divUnsigned(k.add(row, r), group));
              Value at = k.narrow(k.sub(position, start), k.i32); // relative to the unit
              for (int64_t v = 0; v < vectors; ++v)
                seen.push_back(k.select(visibleInUnit(at, v), scores[r * vectors + v], lowest));
            }
            return seen;
          });
      Value byte = k.mul(p, kPageTokens * 4);
      for (int64_t r = 0; r < count; ++r)
        for (int64_t v = 0; v < vectors; ++v) {
          Value score = scores[r * vectors + v];
          k.store(score, k.at(sAt(k.word(r), byte), v * kVectorBytes), 64);
          most[r] = k.fmax(score, most[r]); // this operand order ignores NaN
        }
      return most;
    });
  }

  /// Computes q . K of a unit as two vectors per row and page: positions 0-15 and 16-31, or (bf16)
  /// even and odd ones. Prefetches lines of the next block.
  Values emitDots(const Block &block, Value row, int64_t count, Value p, int64_t pages) {
    if (isInt4())
      return emitDotsOfCodes(block, row, count, p, pages);
    int64_t unroll = headDim % 4 ? 1 : 4, lineBytes = shape.storedBytes(kPageTokens);
    int64_t vectors = 2 * pages;
    Value q = qAt(row), index = k.add(block.page, p);
    Values keys, next;
    for (int64_t page = 0; page < pages; ++page) {
      keys.push_back(keysOf(pageOf(k.add(index, page))));
      next.push_back(keysOf(pageOf(k.add(index, page + kPagesOfBlock))));
    }
    Values zeros(count * vectors, k.splat(f32x16, 0));
    return k.loop(k.word(0), k.word(headDim), k.word(unroll), zeros,
                  [&](Value d, ValueRange carried) {
                    Values sums(carried.begin(), carried.end());
                    Value qD = k.at(q, k.mul(d, 4)), byte = k.mul(d, lineBytes);
                    for (int64_t u = 0; u < unroll; ++u) {
                      Values ones;
                      for (int64_t r = 0; r < count; ++r)
                        ones.push_back(k.loadSplat(f32x16, k.at(qD, (r * shape.qStride + u) * 4)));
                      // K is loaded page by page, because the sums leave few registers free.
                      for (int64_t page = 0; page < pages; ++page) {
                        for (int64_t line = 0; line < lineBytes; line += 64)
                          k.prefetch(k.at(k.at(next[page], byte), u * lineBytes + line));
                        Values two = loadKeys(k.at(k.at(keys[page], byte), u * lineBytes));
                        for (int64_t r = 0; r < count; ++r)
                          for (int64_t half = 0; half < 2; ++half) {
                            Value &sum = sums[r * vectors + 2 * page + half];
                            sum = k.fma(ones[r], two[half], sum);
                          }
                      }
                    }
                    return sums;
                  });
  }

  /// Returns the dot products for int4 (KvInt4.h), in the order in which bytes hold the dimensions.
  Values emitDotsOfCodes(const Block &block, Value row, int64_t count, Value p, int64_t pages) {
    int64_t vectors = 2 * pages;
    Value q = qAt(row), index = k.add(block.page, p);
    Values keys, scales;
    for (int64_t page = 0; page < pages; ++page) {
      keys.push_back(keysOf(pageOf(k.add(index, page))));
      scales.push_back(scalesOfKeys(pageOf(k.add(index, page))));
    }
    constexpr int64_t lines = kKvInt4Group / 2; // per group
    Values zeros(count * vectors, k.splat(f32x16, 0));
    Value groups = k.word(headDim / kKvInt4Group);
    return k.loop(k.word(0), groups, k.word(1), zeros, [&](Value g, ValueRange ofGroup) {
      return k.loop(k.word(0), k.word(lines), k.word(1), ofGroup, [&](Value i, ValueRange carried) {
        Values sums(carried.begin(), carried.end());
        Value line = k.mul(k.add(k.mul(g, lines), i), kPageTokens);
        Value qD = k.at(q, k.mul(k.add(k.mul(g, kKvInt4Group), i), 4));
        for (int64_t page = 0; page < pages; ++page)
          for (int64_t half = 0; half < 2; ++half) {
            Value scale =
                loadScales(k.at(k.at(scales[page], k.mul(g, kPageTokens * 2)), half * 32));
            Value bytes = k.at(k.at(keys[page], line), half * kRowLanes);
            for (int64_t nibble = 0; nibble < 2; ++nibble) {
              Value key = k.fmul(loadCodes(bytes, nibble), scale);
              for (int64_t r = 0; r < count; ++r) {
                int64_t from = r * shape.qStride + nibble * lines;
                Value &sum = sums[r * vectors + 2 * page + half];
                sum = k.fma(k.loadSplat(f32x16, k.at(qD, from * 4)), key, sum);
              }
            }
          }
        return sums;
      });
    });
  }

  /// Loads one nibble of each of 16 bytes, as f32.
  Value loadCodes(Value from, int64_t nibble) {
    Value bytes = k.widenUnsigned(k.load(k.vec(k.i8, kRowLanes), from, 1), i32x16);
    return k.toFloat(k.sub(nibble ? k.shiftRight(bytes, 4) : k.bitAnd(bytes, 15), 8));
  }
  Value loadScales(Value from) { return k.extend(k.load(k.vec(k.f16, kRowLanes), from, 2)); }

  Values loadKeys(Value line) {
    switch (shape.element) {
    case KvFormat::F32:
      return {k.load(f32x16, line, 64), k.load(f32x16, k.at(line, 64), 64)};
    case KvFormat::F16: {
      auto halves = k.vec(k.f16, kRowLanes);
      return {k.extend(k.load(halves, line, 32)), k.extend(k.load(halves, k.at(line, 32), 32))};
    }
    case KvFormat::BF16:
      return splitBF16(k.load(i32x16, line, 64));
    case KvFormat::FP8:  // GPUs only
    case KvFormat::Int8: // AttentionInt8.h
    case KvFormat::Int4: // emitDotsOfCodes
      break;
    }
    return {};
  }

  /// Splits 32 bf16 into the even and the odd ones.
  Values splitBF16(Value words) {
    return {k.bitcast(f32x16, k.shiftLeft(words, 16)),
            k.bitcast(f32x16, k.bitAnd(words, int32_t(0xffff0000)))};
  }

  Value cappedScore(Value dot) {
    if (softcap() == 0)
      return dot;
    double scale = op.getScale().convertToFloat();
    return math::TanhOp::create(k.b, k.fmul(dot, k.splat(f32x16, scale / softcap())));
  }

  /// Returns the lanes of vector v of a unit that a row at position `at`, relative to the unit, may see.
  Value visibleInUnit(Value at, int64_t v) {
    SmallVector<int32_t> inUnit;
    for (int64_t i = 0; i < kRowLanes; ++i)
      inUnit.push_back(shape.element == KvFormat::BF16 ? v / 2 * kPageTokens + 2 * i + v % 2
                                                       : v * kRowLanes + i);
    return visible(k.constant(inUnit), at, [&] { return k.sub(at, window); });
  }

  //===--- Softmax ----------------------------------------------------------===//

  /// Computes the new m of the tile's rows and the factors of the previous sums, with a row in each lane.
  void emitFactors(Value row, ValueRange most) {
    Value all = k.splat(f32x16, -std::numeric_limits<double>::infinity());
    for (auto [r, widest] : llvm::enumerate(most)) {
      SmallVector<int64_t> insert;
      for (int64_t i = 0; i < kRowLanes; ++i)
        insert.push_back(i == int64_t(r) ? kRowLanes + i : i);
      for (int64_t distance = kRowLanes / 2; distance; distance /= 2) {
        SmallVector<int64_t> lanes;
        for (int64_t i = 0; i < kRowLanes; ++i)
          lanes.push_back(i ^ distance);
        widest = k.fmax(widest, shuffle(k, widest, widest, lanes));
      }
      all = shuffle(k, all, widest, insert);
    }
    Value old = k.load(f32x16, mAt(row)), next = k.fmax(k.fmul(all, toLog2()), old);
    k.store(emitExp2OfNonPositive(k.b, k.fsub(old, next)), scratch(shape.factorsOffset), 64);
    storeFirst(k, next, mAt(row), int64_t(most.size()));
  }

  /// Replaces the scores of the tile's rows by weights, in order of position, and updates l.
  void emitWeights(const Block &block, Value row, int64_t count) {
    k.loop(0, count, 1, [&](Value r) {
      Value less = k.fsub(k.splat(f32x16, 0), k.loadSplat(f32x16, mAt(k.add(row, r))));
      auto weight = [&](Value from) { // the exponent exceeds 0 by at most half an ulp of m
        Value score = k.load(f32x16, from, 64);
        return emitExp2OfNonPositive(k.b, k.fma(score, toLog2(), less));
      };
      auto body = [&](Value p, ValueRange carried) {
        Value at = sAt(r, k.mul(p, kPageTokens * 4)), high = k.at(at, kVectorBytes);
        Value a = weight(at), c = weight(high);
        Value sum = k.fadd(k.fadd(carried[0], a), c);
        if (shape.element == KvFormat::BF16)
          std::tie(a, c) = interleave(a, c);
        k.store(a, at, 64), k.store(c, high, 64);
        return Values{sum};
      };
      Values sum = k.loop(block.from, block.to, k.word(1), k.splat(f32x16, 0), body);
      Value l = lAt(k.add(row, r));
      k.store(k.fma(k.load(f32x16, l, 64), factorOf(r), sum[0]), l, 64);
    });
  }

  std::pair<Value, Value> interleave(Value even, Value odd) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < kRowLanes; ++i) {
      low.push_back(i / 2 + i % 2 * kRowLanes);
      high.push_back(i / 2 + kRowLanes / 2 + i % 2 * kRowLanes);
    }
    return {shuffle(k, even, odd, low), shuffle(k, even, odd, high)};
  }

  //===--- p . V ------------------------------------------------------------===//

  /// o = o * factor + sum p_j V_j for `size` chunks of `count` rows.
  void emitValues(const Block &block, Value row, int64_t count, int64_t chunk, int64_t size) {
    int64_t lineBytes = shape.storedBytes(headDim);
    Values sums;
    auto place = [&](int64_t r, int64_t c) {
      return k.at(oAt(row), (r * chunks + chunk + c) * kVectorBytes);
    };
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < size; ++c)
        sums.push_back(k.fmul(k.load(f32x16, place(r, c), 64), factorOf(k.word(r))));
    sums = k.loop(block.from, block.to, k.word(1), sums, [&](Value p, ValueRange ofPage) {
      Value index = k.add(block.page, p), first = k.mul(p, kPageTokens);
      Value values = valuesOf(pageOf(index));
      Value next = valuesOf(pageOf(k.add(index, kPagesOfBlock)));
      Value scales = isInt4() ? scalesOfValues(pageOf(index)) : Value();
      // Positions that no row may see are not read. They may hold NaN, and 0 times NaN is NaN.
      Value begin = k.word(0);
      if (window)
        begin = k.maxSigned(k.sub(block.unseen, first), begin);
      Value written = k.minSigned(k.sub(block.written, first), k.word(kPageTokens));
      return k.loop(begin, written, k.word(1), ofPage, [&](Value j, ValueRange carried) {
        Values o(carried.begin(), carried.end());
        Value line = k.mul(j, lineBytes);
        for (int64_t byte = 0; chunk == 0 && byte < lineBytes; byte += 64)
          k.prefetch(k.at(k.at(next, line), byte));
        Values v = isInt4() ? loadValuesOfCodes(k.at(values, line),
                                                k.at(scales, k.mul(j, lineBytes / 8)), chunk, size)
                            : loadValues(k.at(values, line), chunk, size);
        for (int64_t r = 0; r < count; ++r) {
          Value weight = k.loadSplat(f32x16, sAt(k.word(r), k.mul(k.add(first, j), 4)));
          for (int64_t c = 0; c < size; ++c)
            o[r * size + c] = k.fma(weight, v[c], o[r * size + c]);
        }
        return o;
      });
    });
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < size; ++c)
        k.store(sums[r * size + c], place(r, c), 64);
  }

  Values loadValuesOfCodes(Value line, Value scales, int64_t chunk, int64_t count) {
    Values v;
    for (int64_t c = chunk; c < chunk + count; ++c) {
      Value scale = k.extend(k.load(k.f16, k.at(scales, c / 2 * 2), 2));
      Value codes = loadCodes(k.at(line, c / 2 * kRowLanes), c % 2);
      v.push_back(k.fmul(codes, k.broadcast(f32x16, scale)));
    }
    return v;
  }

  Values loadValues(Value line, int64_t chunk, int64_t count) {
    Values v;
    int64_t align = std::gcd<int64_t>(shape.storedBytes(headDim), 64);
    if (shape.split) {
      for (int64_t c = chunk; c < chunk + count; c += 2)
        v.append(splitBF16(k.load(i32x16, k.at(line, c * 32), align)));
      return v;
    }
    for (int64_t c = chunk; c < chunk + count; ++c) {
      Value from = k.at(line, shape.storedBytes(chunkStart(c)));
      Type stored = shape.element == KvFormat::F32   ? k.f32
                    : shape.element == KvFormat::F16 ? k.f16
                                                     : k.i16;
      Value elements = loadFirst(k, stored, from, headDim);
      if (shape.element == KvFormat::BF16)
        elements = k.bitcast(k.vec(k.bf16, kRowLanes), elements);
      v.push_back(shape.element == KvFormat::F32 ? elements : k.extend(elements));
    }
    return v;
  }

  //===--- The end ----------------------------------------------------------===//

  void emitFinish() {
    finishRows([&](Values &y) {
      for (int64_t c = 0; shape.split && c < chunks; c += 2)
        std::tie(y[c], y[c + 1]) = interleave(y[c], y[c + 1]);
    });
  }

  AttentionShape shape;
  int64_t mostRows, mostSums; ///< maximum rows and sums (vectors of 16) of a register tile
};

} // namespace

LogicalResult ingot::codegen::cpu::emitAttention(KernelBuilder &k, kernel::AttentionOp op) {
  if (!kvFormat(op.getKv().getType().getFormat()).cpu)
    return op.emitOpError("expects a KV pool of ")
           << kvFormatNames(isOfCpus, "or") << " on CPUs, got " << op.getKv().getType();
  if (op.getKv().getType().getFormat() == KvFormat::Int8)
    return emitAttentionInt8(k, op);
  if (op.getScale().convertToFloat() <= 0)
    return op.emitOpError("expects a positive scale, got ") << op.getScale().convertToFloat();
  AttentionEmitter(k, op).emit();
  return success();
}

int64_t ingot::codegen::cpu::attentionScratchBytes(kernel::AttentionOp op) {
  return op.getKv().getType().getFormat() == KvFormat::Int8 ? AttentionInt8Shape(op).bytes
                                                            : AttentionShape(op).bytes;
}
