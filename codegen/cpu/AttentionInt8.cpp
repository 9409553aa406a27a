//===- AttentionInt8.cpp - See AttentionInt8.h ----------------------------===//
#include "codegen/cpu/AttentionInt8.h"
#include "codegen/cpu/Hadamard.h"
#include "codegen/cpu/MathApproximation.h"
#include "codegen/cpu/Quantize.h"
#include "dialects/kernel/ops/Attention.h"
#include "runtime/formats/KvInt8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

/// Bytes of L or 1 / s_V of a block, for one token or unmasked.
static constexpr int64_t kBlockBytes = kAttentionBlock * 4;

AttentionInt8Shape::AttentionInt8Shape(kernel::AttentionOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  const int64_t rows = kAttentionTile * (op.getHeads() / kv.getKvHeads());
  qStride = roundUp(kv.getHeadDim(), kRowLanes);
  int64_t next = 0;
  auto take = [&](int64_t bytesOf) {
    int64_t at = next;
    next += roundUp(bytesOf, 64);
    return at;
  };
  q = take(rows * qStride), rowScale = take(rows * 4), start = take(rows * 4);
  state.o = take(rows * qStride * 4), state.l = take(rows * kVectorBytes);
  state.m = take((rows + kRowLanes) * 4);
  pages = take(kPagesOfBlock * 4 * 8), ahead = take(kPagesOfBlock * 4 * 8);
  keyScales = take(kBlockBytes);
  logScales = take((kAttentionTile + 1) * kBlockBytes);
  inverses = take((kAttentionTile + 1) * kBlockBytes);
  scores = take(kAttentionRows * kBlockBytes), weights = take(kAttentionRows * kAttentionBlock);
  lowered = take(kAttentionRows * kVectorBytes), factors = take(2 * kVectorBytes);
  bytes = next;
}

namespace {

/// Units of y per power of two: with 2^23, the integer part of y is where a float has its exponent.
constexpr double kUnit = 8388608;

class AttentionInt8Emitter : AttentionItem {
public:
  AttentionInt8Emitter(KernelBuilder &k, kernel::AttentionOp op)
      : AttentionItem(k, op, AttentionInt8Shape(op).state), shape(op),
        mostRows(k.isa.registers >= 32 ? kAttentionRows : 2), unit(kTileVectors * k.lanes),
        perSixteen(kRowLanes / k.lanes) {}

  void emit() {
    forEachItem([&] {
      emitStart();
      emitBlocks();
      finishRows();
    });
  }

private:
  /// Registers per row of a tile. Their lanes are positions for scores, and elements of o for sums.
  static constexpr int64_t kTileVectors = 4;

  Value qAt(Value row) { return scratch(shape.q, row, shape.qStride); }

  //===--- The start --------------------------------------------------------===//

  /// Writes q of the item to scratch as codes. Initialises o to 0, and m and l of the softmax.
  void emitStart() {
    forEachRow([&](Value row, Value token, Value queryHead) {
      Values x = loadQuery(token, queryHead);
      QuantizedVector q = quantizeVector(k, hadamard(k, x, headDim), 0);
      Value sum;
      for (auto [c, codes] : llvm::enumerate(q.codes)) {
        k.store(k.narrow(codes, k.vec(k.i8, kRowLanes)), k.at(qAt(row), int64_t(c) * kRowLanes),
                kRowLanes);
        sum = sum ? k.add(sum, codes) : codes;
      }
      k.store(k.mul(k.sumLanes(sum), -128), scratch(shape.start, row, 4));
      k.store(k.fmul(q.scale, k.splat(k.f32, scoreFactor())), scratch(shape.rowScale, row, 4));
      startRow(row, queryHead, kLog2E * kUnit, 255);
    });
  }

  /// Returns the factor of s_q that converts scores to units of y, or with a soft-cap to the argument of tanh.
  double scoreFactor() {
    double scale = double(op.getScale().convertToFloat()) / double(kvInt8Block(headDim));
    return softcap() == 0 ? scale * kLog2E * kUnit : scale / softcap();
  }

  //===--- Blocks -----------------------------------------------------------===//

  void emitBlocks() {
    lastPosition = k.sub(k.add(firstPosition, tokens), 1);
    lastPage = k.divUnsigned(lastPosition, kPageTokens);
    Value firstSeen = firstSeenPosition();
    firstPage = k.divUnsigned(firstSeen, kPageTokens);
    Value tiles = k.divUnsigned(k.add(k.mul(tokens, group), mostRows - 1), mostRows);
    piecesOfTile = arith::DivUIOp::create(k.b, k.add(tiles, 2 * kPagesOfBlock - 1), tiles);
    forEachBlock(firstSeen, [&](Value block) {
      blockStart = k.mul(block, kAttentionBlock);
      Value written =
          k.minSigned(k.add(k.sub(lastPosition, blockStart), 1), k.word(kAttentionBlock));
      units = k.divUnsigned(k.add(written, unit - 1), unit);
      pages = k.divUnsigned(k.add(written, kPageTokens - 1), kPageTokens);
      emitPages(block);
      emitScales();
      emitRows();
    });
  }

  Value pageOf(Value index) { return pageAt(k.minSigned(k.maxSigned(index, firstPage), lastPage)); }

  /// Writes the addresses of the pages of the block and of the next one to scratch. Indices are clamped
  /// to the first and last page that the item sees; values read from such extra pages are not used.
  void emitPages(Value block) {
    Value first = k.mul(block, kPagesOfBlock);
    k.loop(0, kPagesOfBlock, 1, [&](Value p) {
      Value page = pageOf(k.add(first, p)), to = scratch(shape.pages, p, 32);
      k.store(keysOf(page), to);
      k.store(valuesOf(page), k.at(to, 8));
      k.store(scalesOfKeys(page), k.at(to, 16));
      Value next = pageOf(k.add(k.add(first, kPagesOfBlock), p)),
            ahead = scratch(shape.ahead, p, 32);
      k.store(keysOf(next), ahead);
      k.store(scalesOfKeys(next), k.at(ahead, 8));
      k.store(valuesOf(next), k.at(ahead, 16));
      k.store(scalesOfValues(next), k.at(ahead, 24));
    });
  }
  /// Prefetches the tile's share of the next block. The pieces of the next block (K or V of a page) are divided among
  /// the tiles of this block. If one tile issued all prefetches, they would wait for each other, and the tile would
  /// wait for them.
  void prefetchShare(Value tile) {
    Value from = k.mul(tile, piecesOfTile);
    Value to = k.minSigned(k.add(from, piecesOfTile), k.word(2 * kPagesOfBlock));
    k.loop(from, to, k.word(1), [&](Value piece) {
      Value codes = k.load(k.ptr, scratch(shape.ahead, piece, 16));
      Value scales = k.load(k.ptr, k.at(scratch(shape.ahead, piece, 16), 8));
      k.loop(0, headBytes(), 64, [&](Value byte) { k.prefetch(k.at(codes, byte)); });
      for (int64_t line : {0, 64})
        k.prefetch(k.at(scales, line));
    });
  }
  Value pageField(Value p, int64_t field) {
    return k.load(k.ptr, k.at(scratch(shape.pages, p, 32), field));
  }

  Value lanePositions(Value first) {
    SmallVector<int32_t> lanes(kRowLanes);
    std::iota(lanes.begin(), lanes.end(), 0);
    return k.add(k.constant(lanes), k.broadcast(i32x16, k.narrow(first, k.i32)));
  }
  /// Returns the lanes of `positions` in (after, upTo]; without a window, all up to `upTo`.
  Value within(Value positions, Value upTo, Value after) {
    return visible(positions, k.narrow(upTo, k.i32), [&] { return k.narrow(after, k.i32); });
  }

  /// Returns log2 of a normal number, in units of y: the exponent plus a quintic of the significand
  /// (absolute error of the logarithm 1.7e-5).
  Value logarithm(Value scale) {
    Value bits = k.bitcast(i32x16, scale);
    Value exponent = k.toFloat(k.sub(k.shiftRight(bits, 23), k.splatInt(i32x16, 127)));
    Value w = k.bitcast(f32x16, arith::OrIOp::create(k.b, k.bitAnd(bits, 0x7fffff),
                                                     k.splatInt(i32x16, 0x3f800000)));
    Value sum = k.splat(f32x16, kLogarithm[0]);
    for (size_t i = 1; i < std::size(kLogarithm); ++i)
      sum = k.fma(sum, w, k.splat(f32x16, kLogarithm[i]));
    return k.fmul(k.fadd(exponent, sum), k.splat(f32x16, kUnit));
  }

  /// Writes s_K, L and 1 / s_V of the block to scratch, and L and 1 / s_V of each token if some
  /// token does not see all of the block.
  void emitScales() {
    Value none = k.splat(f32x16, 0), hidden = k.splat(f32x16, kNoScore);
    int64_t plain = kAttentionTile * kBlockBytes;
    k.loop(0, kPagesOfBlock, 1, [&](Value p) {
      Value scales = pageField(p, 16);
      for (int64_t half = 0; half < kPageTokens; half += kRowLanes) {
        Value at = k.add(k.mul(p, kPageTokens), half), byte = k.mul(at, 4);
        Value seen = within(lanePositions(k.add(blockStart, at)), lastPosition,
                            k.sub(firstPosition, window));
        Value ofK = k.load(f32x16, k.at(scales, half * 4), 64);
        Value ofV = k.load(f32x16, k.at(scales, (kvHeads * kPageTokens + half) * 4), 64);
        ofV = k.select(seen, ofV, k.splat(f32x16, 1)); // unseen positions may hold anything
        k.store(k.select(seen, ofK, none), k.at(scratch(shape.keyScales), byte), 64);
        k.store(logarithm(ofV), k.at(scratch(shape.logScales + plain), byte), 64);
        k.store(k.fdiv(k.splat(f32x16, 1), ofV), k.at(scratch(shape.inverses + plain), byte), 64);
      }
    });
    Value unmasked = seesAll(blockStart);
    Value perToken = k.select(unmasked, k.word(0), k.word(1));
    tokenStride = k.mul(perToken, kBlockBytes);
    tokenBase = k.select(unmasked, k.word(plain), k.word(0));
    k.loop(k.word(0), k.mul(tokens, perToken), k.word(1), [&](Value t) {
      Value position = k.add(firstPosition, t), to = k.mul(t, kBlockBytes);
      k.loop(0, kAttentionBlock, kRowLanes, [&](Value j) {
        Value seen = within(lanePositions(k.add(blockStart, j)), position, k.sub(position, window));
        Value byte = k.mul(j, 4);
        for (auto [array, masked] :
             {std::pair{shape.logScales, hidden}, std::pair{shape.inverses, none}}) {
          Value all = k.load(f32x16, k.at(scratch(array + plain), byte), 64);
          k.store(k.select(seen, all, masked), k.at(k.at(scratch(array), to), byte), 64);
        }
      });
    });
  }
  /// Returns the address of the values for a row's token in scratch array `array`.
  Value ofToken(int64_t array, Value row) {
    return k.at(k.at(scratch(array), tokenBase), k.mul(k.divUnsigned(row, group), tokenStride));
  }

  //===--- Rows -------------------------------------------------------------===//

  /// Emits all rows in register tiles, and the remainder in one smaller tile.
  void emitRows() {
    Value rows = k.mul(tokens, group), rest = k.remUnsigned(rows, mostRows);
    Value full = k.sub(rows, rest);
    k.loop(k.word(0), full, k.word(mostRows), [&](Value row) { emitTile(row, mostRows); });
    int64_t step = std::gcd(group, mostRows); // rows are a multiple of it
    for (int64_t count = step; count < mostRows; count += step)
      k.when(k.equal(rest, k.word(count)), [&] { emitTile(full, count); });
  }

  void emitTile(Value row, int64_t count) {
    prefetchShare(k.divUnsigned(row, mostRows));
    emitFactors(row, emitScores(row, count));
    emitWeights(row, count);
    int64_t registers = chunks * perSixteen;
    int64_t groups = (registers + kTileVectors - 1) / kTileVectors;
    for (int64_t g = 0, first = 0; g < groups; ++g) { // of nearly equal size
      int64_t size = (registers - first + groups - g - 1) / (groups - g);
      emitSums(row, count, first, size);
      first += size;
    }
  }

  //===--- u8 x s8 ----------------------------------------------------------===//

  /// 4 bytes per lane; without vpdpbusd, the even and odd bytes as 16-bit integers.
  struct Bytes {
    Value all, even, odd;
  };
  Bytes bytesOf(Value dwords, bool isSigned) {
    VectorType words = k.vec(k.i16, 2 * k.lanes);
    if (k.isa.dot == DotKind::Vpdpbusd)
      return {k.bitcast(k.vec(k.i8, 4 * k.lanes), dwords), {}, {}};
    Value w = k.bitcast(words, dwords), eight = k.splatInt(words, 8);
    if (!isSigned)
      return {{}, k.bitAnd(w, 255), k.shiftRight(w, 8)};
    return {{},
            arith::ShRSIOp::create(k.b, k.shiftLeft(w, 8), eight),
            arith::ShRSIOp::create(k.b, w, eight)};
  }
  Value dot(Value sum, const Bytes &unsignedBytes, const Bytes &signedBytes) {
    if (k.isa.dot == DotKind::Vpdpbusd)
      return k.dotU8S8(sum, unsignedBytes.all, signedBytes.all);
    for (auto [a, b] : {std::pair{unsignedBytes.even, signedBytes.even},
                        std::pair{unsignedBytes.odd, signedBytes.odd}})
      sum = k.add(sum, k.intrinsic("llvm.x86.avx2.pmadd.wd", k.i32s, {a, b}));
    return sum;
  }

  //===--- q . K ------------------------------------------------------------===//

  /// Writes y of the rows to scratch. Returns their maxima, lane by lane.
  Values emitScores(Value row, int64_t count) {
    Values lowest(count, k.splat(kNoScore));
    return k.loop(k.word(0), units, k.word(1), lowest, [&](Value u, ValueRange carried) {
      Values dots = emitDots(row, count, u), most(carried.begin(), carried.end());
      Value byte = k.mul(u, unit * 4);
      for (int64_t r = 0; r < count; ++r) {
        Value rowR = k.add(row, r);
        Value scale = k.loadSplat(k.f32s, scratch(shape.rowScale, rowR, 4));
        Value logs = k.at(ofToken(shape.logScales, rowR), byte);
        for (int64_t v = 0; v < kTileVectors; ++v) {
          int64_t at = v * k.lanes * 4;
          Value t =
              k.fmul(k.toFloat(dots[r * kTileVectors + v]),
                     k.load(k.f32s, k.at(k.at(scratch(shape.keyScales), byte), at), 4 * k.lanes));
          Value y = scoreOf(t, scale, k.load(k.f32s, k.at(logs, at), 4 * k.lanes));
          k.store(y, k.at(k.at(scratch(shape.scores + r * kBlockBytes), byte), at), 4 * k.lanes);
          most[r] = k.fmax(y, most[r]); // this operand order ignores NaN
        }
      }
      return most;
    });
  }
  Value scoreOf(Value t, Value scale, Value logScale) {
    if (softcap() == 0)
      return k.fma(t, scale, logScale);
    Value bounded = math::TanhOp::create(k.b, k.fmul(t, scale));
    return k.fma(bounded, k.splat(softcap() * kLog2E * kUnit), logScale);
  }

  /// Computes integer dots of the rows with one unit of positions, [row][register].
  Values emitDots(Value row, int64_t count, Value u) {
    constexpr int64_t line = kPageTokens * 4; // bytes of four elements at all positions of a page
    Value pagesOfUnit[kTileVectors];
    int64_t perPage = std::min(kTileVectors, kPageTokens / k.lanes);
    for (int64_t v = 0; v < kTileVectors; ++v)
      pagesOfUnit[v] = v % perPage
                           ? pagesOfUnit[v - 1]
                           : pageField(k.add(k.mul(u, kTileVectors / perPage), v / perPage), 0);
    Values starts;
    for (int64_t r = 0; r < count; ++r)
      starts.append(kTileVectors, k.loadSplat(k.i32s, scratch(shape.start, k.add(row, r), 4)));
    int64_t steps = headDim / 4, unroll = steps % 4 ? 1 : 4;
    return k.loop(
        k.word(0), k.word(steps), k.word(unroll), starts, [&](Value i, ValueRange carried) {
          Values sums(carried.begin(), carried.end());
          Value q = k.at(qAt(row), k.mul(i, 4)), byte = k.mul(i, line);
          for (int64_t n = 0; n < unroll; ++n) {
            Bytes keys[kTileVectors];
            for (int64_t v = 0; v < kTileVectors; ++v) {
              Value from = k.at(k.at(pagesOfUnit[v], byte), n * line + v % perPage * k.lanes * 4);
              keys[v] = bytesOf(k.load(k.i32s, from, 4 * k.lanes), false);
            }
            for (int64_t r = 0; r < count; ++r) {
              Bytes x = bytesOf(k.loadSplat(k.i32s, k.at(q, r * shape.qStride + n * 4)), true);
              for (int64_t v = 0; v < kTileVectors; ++v)
                sums[r * kTileVectors + v] = dot(sums[r * kTileVectors + v], keys[v], x);
            }
          }
          return sums;
        });
  }

  //===--- Softmax ----------------------------------------------------------===//

  /// Writes M - log2 255, a and b of the tile's rows to scratch, and the new m.
  void emitFactors(Value row, ValueRange most) {
    Value all = k.splat(f32x16, kNoScore);
    for (auto [r, v] : llvm::enumerate(most)) {
      Value widest = v;
      for (int64_t distance = k.lanes / 2; distance; distance /= 2) {
        SmallVector<int64_t> lanes;
        for (int64_t i = 0; i < k.lanes; ++i)
          lanes.push_back(i ^ distance);
        widest = k.fmax(widest, shuffle(k, widest, widest, lanes));
      }
      SmallVector<int64_t> insert;
      for (int64_t i = 0; i < kRowLanes; ++i)
        insert.push_back(i == int64_t(r) ? kRowLanes + i % k.lanes : i);
      if (k.lanes < kRowLanes) {
        SmallVector<int64_t> twice;
        for (int64_t i = 0; i < kRowLanes; ++i)
          twice.push_back(i % k.lanes);
        widest = shuffle(k, widest, widest, twice);
      }
      // The weights of a row depend only on its scores and on this number.
      k.store(k.fsub(widest, k.splat(f32x16, std::log2(255.0) * kUnit)),
              scratch(shape.lowered + int64_t(r) * kVectorBytes), 64);
      all = shuffle(k, all, widest, insert);
    }
    Value old = k.load(f32x16, mAt(row)), next = k.fmax(all, old);
    auto power = [&](Value x) {
      return emitExp2OfNonPositive(k.b, k.fmul(x, k.splat(f32x16, 1 / kUnit)));
    };
    k.store(power(k.fsub(old, next)), scratch(shape.factors), 64);
    k.store(power(k.fsub(all, next)), scratch(shape.factors + kVectorBytes), 64);
    storeFirst(k, next, mAt(row), int64_t(most.size()));
  }
  /// Loads a or b into every lane.
  Value factor(VectorType type, Value rowOfTile, bool b) {
    return k.loadSplat(type, scratch(shape.factors + (b ? kVectorBytes : 0), rowOfTile, 4));
  }

  /// Returns 2^(y - M) 255 of a vector (see AttentionInt8.h); not above 2^9 and not below 2^-127.
  Value power(Value y, Value lowered) {
    Value fixed = roundToIntegers(k, k.fsub(y, lowered));
    fixed = k.maxSigned(fixed, k.splatInt(i32x16, -126 * int64_t(kUnit)));
    Value w = k.bitcast(f32x16, arith::OrIOp::create(k.b, k.bitAnd(fixed, 0x7fffff),
                                                     k.splatInt(i32x16, 0x3f800000)));
    Value sum = k.splat(f32x16, kPower[0]);
    for (size_t i = 1; i < std::size(kPower); ++i)
      sum = k.fma(sum, w, k.splat(f32x16, kPower[i]));
    return k.bitcast(f32x16, k.add(k.bitcast(i32x16, sum), k.bitAnd(fixed, -int64_t(kUnit))));
  }

  /// Writes u of the tile's rows to scratch, and updates l.
  void emitWeights(Value row, int64_t count) {
    k.loop(0, count, 1, [&](Value r) {
      Value rowR = k.add(row, r),
            lowered = k.load(f32x16, scratch(shape.lowered, r, kVectorBytes), 64);
      Value inverses = ofToken(shape.inverses, rowR), y = scratch(shape.scores, r, kBlockBytes),
            to = scratch(shape.weights, r, kAttentionBlock);
      Values sum =
          k.loop(k.word(0), units, k.word(1), k.splat(f32x16, 0), [&](Value u, ValueRange carried) {
            Value byte = k.mul(u, unit * 4), partial = carried[0];
            Values weights;
            for (int64_t at = 0; at < unit; at += kRowLanes) {
              weights.push_back(power(k.load(f32x16, k.at(k.at(y, byte), at * 4), 64), lowered));
              partial = k.fma(weights.back(),
                              k.load(f32x16, k.at(k.at(inverses, byte), at * 4), 64), partial);
            }
            k.store(roundToBytes(k, weights), k.at(to, k.mul(u, unit)), unit);
            return Values{partial};
          });
      Value l = lAt(rowR);
      k.store(k.fma(sum[0], factor(f32x16, r, true),
                    k.fmul(k.load(f32x16, l, 64), factor(f32x16, r, false))),
              l, 64);
    });
  }

  //===--- u . V ------------------------------------------------------------===//

  /// Updates `size` registers of o of the rows, starting at `first`.
  void emitSums(Value row, int64_t count, int64_t first, int64_t size) {
    constexpr int64_t perPage = kPageTokens / 4;
    Values zeros(count * size, k.splatInt(k.i32s, 0));
    auto elementOf = [&](int64_t v) {
      return chunkStart((first + v) / perSixteen) + (first + v) % perSixteen * k.lanes;
    };
    int64_t align = std::gcd<int64_t>(headDim * 4, 64);
    Values sums = k.loop(k.word(0), pages, k.word(1), zeros, [&](Value p, ValueRange carried) {
      Values next(carried.begin(), carried.end());
      Value values = pageField(p, 8);
      Value position = k.mul(p, kPageTokens), inUnit = k.remUnsigned(position, unit);
      // A page is the first or the second half of a unit, so the index of its first dword is
      // packedDword of its start.
      Value start = k.add(k.sub(position, inUnit), k.mul(k.divUnsigned(inUnit, k.lanes), 4));
      Value weights = k.at(scratch(shape.weights), start);
      for (int64_t g = 0; g < perPage; ++g) {
        SmallVector<Bytes> v;
        for (int64_t i = 0; i < size; ++i)
          v.push_back(bytesOf(k.load(k.i32s, k.at(values, (g * headDim + elementOf(i)) * 4),
                                     std::min<int64_t>(align, 4 * k.lanes)),
                              true));
        for (int64_t r = 0; r < count; ++r) {
          int64_t at = r * kAttentionBlock + packedDword(4 * g, k.lanes) * 4;
          Bytes u = bytesOf(k.loadSplat(k.i32s, k.at(weights, at)), false);
          for (int64_t i = 0; i < size; ++i)
            next[r * size + i] = dot(next[r * size + i], u, v[i]);
        }
      }
      return next;
    });
    for (int64_t r = 0; r < count; ++r) {
      Value a = factor(k.f32s, k.word(r), false), b = factor(k.f32s, k.word(r), true);
      for (int64_t i = 0; i < size; ++i) {
        Value at = k.at(oAt(k.add(row, r)), (first + i) * k.lanes * 4);
        Value old = k.fmul(k.load(k.f32s, at, 4 * k.lanes), a);
        k.store(k.fma(k.toFloat(sums[r * size + i]), b, old), at, 4 * k.lanes);
      }
    }
  }

  /// Coefficients, highest first. kPower: 2^(w-1) for w in 1 … 2, minimax in the relative error;
  /// kLogarithm: log2(w), minimax in the absolute error.
  static constexpr double kPower[] = {0.07802452, -0.00800641, 0.4777728, 0.45213431};
  static constexpr double kLogarithm[] = {0.04300496,  -0.40251339, 1.58947429,
                                          -3.48987855, 5.04785541,  -2.78792621};

  AttentionInt8Shape shape;
  int64_t mostRows;   ///< maximum rows of a register tile
  int64_t unit;       ///< positions of a register tile
  int64_t perSixteen; ///< registers per vector of 16
  Value piecesOfTile; ///< pieces of the next block that a tile prefetches
  /// The block's first position, and how many of its units and pages have written positions.
  Value blockStart, units, pages;
  Value tokenBase, tokenStride; ///< of the block: byte offset of a token's L and 1 / s_V
};

} // namespace

LogicalResult ingot::codegen::cpu::emitAttentionInt8(KernelBuilder &k, kernel::AttentionOp op) {
  if (op.getKv().getType().getHeadDim() % 4 != 0)
    return op.emitOpError("expects heads of a multiple of 4 elements for a KV pool of int8, got ")
           << op.getKv().getType();
  AttentionInt8Emitter(k, op).emit();
  return success();
}
