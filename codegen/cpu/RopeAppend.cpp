//===- RopeAppend.cpp - kernel.rope_append: from projections to the cache ---===//
//
// For one token: every head of q and k is normalised (optional), rotated (optional),
// and then
//
//   q   is written back in place, in f32
//   k   is rounded to the pool's type and scattered: k[head][d][slot] (transposed, so
//       that attention loads 16 positions at once)
//   v   is rounded and copied: v[head][slot][d]
//
// int8 and int4 have other layouts, with scales: KvInt8.h, KvInt4.h.
//
// A head is held in vectors of 16 (two registers with AVX2), the last one masked. Pairs of the half
// style that are not aligned to vectors (rotary/2 is not a multiple of 16) go through scratch memory.
// Arithmetic, with one rounding per operation:
//
//   norm     (x * (1 / sqrt(mean(x*x) + eps))) * (w + weight_offset), x less its mean if centred
//   rotate   a' = a*cos - b*sin,  b' = b*cos + a*sin
//   grow     q' = q * temperature[position / period]
//===----------------------------------------------------------------------===//
#include "codegen/cpu/Emitters.h"
#include "codegen/cpu/Hadamard.h"
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/RopeRound.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "dialects/kernel/ops/Rope.h"
#include "runtime/formats/KvInt4.h"
#include "runtime/formats/KvInt8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cassert>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

namespace {

class RopeAppendEmitter {
public:
  RopeAppendEmitter(KernelBuilder &k, kernel::RopeAppendOp op)
      : k(k), op(op), kv(op.getKv().getType()), headDim(kv.getHeadDim()),
        rotary(op.getTable() ? op.getTable().getType().getN() : 0), f32x16(k.vec(k.f32, kRowLanes)),
        elementType(storedType(k, kv.getFormat())) {}

  void emit() {
    Value positions = k.batchPointer(offsetof(BatchView, positions));
    Value sequences = k.batchPointer(offsetof(BatchView, sequenceOf));
    Value blockTable = k.batchPointer(offsetof(BatchView, blockTable));
    Value stride = k.batchWord(offsetof(BatchView, blockTableStride));
    k.forEachItem([&](Value token) {
      Value position = k.widen(k.load(k.i32, k.at(positions, k.mul(token, 4))), k.i64);
      Value sequence = k.widen(k.load(k.i32, k.at(sequences, k.mul(token, 4))), k.i64);
      Value entry = k.add(k.mul(sequence, stride), k.divUnsigned(position, kPageTokens));
      Value page = k.widen(k.load(k.i32, k.at(blockTable, k.mul(entry, 4))), k.i64);
      Value slot = k.remUnsigned(position, kPageTokens);
      Value pool = k.at(k.operand(op.getKv()), k.mul(page, kv.pageBytes()));
      if (op.getTable())
        table = k.at(k.operand(op.getTable()), k.mul(token, op.getTable().getType().rowBytes()));

      using Rows = TypedValue<kernel::ActivationType>;
      Value q = rowOf(cast<Rows>(op.getQ()), token), keys = rowOf(cast<Rows>(op.getK()), token),
            values = rowOf(cast<Rows>(op.getV()), token);
      int64_t headBytes = headDim * 4;
      const int64_t lineBytes = kv.info().valueBytes(headDim); // bytes of a vector in the pool
      const bool plain = kv.info().isPlain();
      Value temperature =
          op.getTemperature() ? k.broadcast(f32x16, temperatureAt(position)) : Value();
      if (rotary || op.getQNorm() || temperature)
        k.loop(0, op.getHeads(), 1, [&](Value head) {
          Value at = k.at(q, k.mul(head, headBytes));
          Values x = turn(loadHead(at), op.getQNorm(), head);
          if (temperature)
            for (Value &v : x)
              v = k.fmul(v, temperature);
          for (auto [c, v] : llvm::enumerate(x))
            storeFirst(k, v, k.at(at, c * 64), left(c));
        });
      k.loop(0, kv.getKvHeads(), 1, [&](Value head) {
        Values x = turn(loadHead(k.at(keys, k.mul(head, headBytes))), op.getKNorm(), head);
        if (!plain)
          return appendCodes(x, pool, head, slot, /*ofV=*/false);
        const int64_t bytes = elementBytes();
        Value to = k.at(k.at(pool, k.mul(head, kPageTokens * lineBytes)), k.mul(slot, bytes));
        storeElements(x, headDim, to, kPageTokens * bytes);
      });
      Value poolOfV = k.at(pool, kv.getKvHeads() * kPageTokens * lineBytes);
      k.loop(0, kv.getKvHeads(), 1, [&](Value head) {
        Values x = loadHead(k.at(values, k.mul(head, headBytes)));
        if (!plain)
          return appendCodes(x, pool, head, slot, /*ofV=*/true);
        const int64_t bytes = elementBytes();
        Value line = k.add(k.mul(head, kPageTokens), slot);
        Value to = k.at(poolOfV, k.mul(line, lineBytes));
        int64_t full = headDim / kRowLanes;
        for (int64_t c = 0; c < full; ++c)
          k.store(roundToStored(k, x[c], kv.getFormat()), k.at(to, c * kRowLanes * bytes));
        if (full < int64_t(x.size()))
          storeElements(ArrayRef(x).drop_front(full), left(full),
                        k.at(to, full * kRowLanes * bytes), bytes);
      });
    });
  }

private:
  using Values = KernelBuilder::Values;

  /// Only for plain formats: codes of others may be smaller than a byte.
  int64_t elementBytes() const {
    assert(kv.info().isPlain() && "codes may be smaller than a byte");
    return elementType.getIntOrFloatBitWidth() / 8;
  }
  int64_t left(int64_t chunk) { return headDim - chunk * kRowLanes; } ///< elements to the end
  Value rowOf(TypedValue<kernel::ActivationType> memory, Value token) {
    return k.at(k.operand(memory), k.mul(token, memory.getType().rowBytes()));
  }

  Values loadHead(Value from) {
    Values x;
    for (int64_t c = 0; left(c) > 0; ++c)
      x.push_back(loadFirst(k, k.f32, k.at(from, c * 64), left(c)));
    return x;
  }

  /// Loads the attention temperature scale of a token's queries.
  Value temperatureAt(Value position) {
    Value index = k.minSigned(k.divUnsigned(position, int64_t(op.getTemperaturePeriod())),
                              k.word(op.getTemperature().getType().rows() - 1));
    return k.load(k.f32, k.at(k.operand(op.getTemperature()), k.mul(index, 4)));
  }

  using Norm = TypedValue<lm::WeightType>;
  Values turn(const Values &x, Norm norm, Value head) {
    return op.getNormAfter() ? normalise(rotate(x), norm, head) : rotate(normalise(x, norm, head));
  }

  /// Loads 16 values of a norm's weight, starting at c*16. The weight is shared by all heads, or each head has its
  /// own.
  Value weightsOf(Norm norm, Value head, int64_t c) {
    Value weight = k.operand(norm);
    if (norm.getType().rows() == headDim) // padded to whole vectors
      return k.load(f32x16, k.at(weight, c * 64), 64);
    return loadFirst(k, k.f32, k.at(k.at(weight, k.mul(head, headDim * 4)), c * 64), left(c));
  }

  Values normalise(Values x, Norm weight, Value head) {
    if (!weight)
      return x;
    if (op.getCentred()) {
      Value mean = k.broadcast(f32x16, meanOf(k, x, headDim));
      for (auto [c, v] : llvm::enumerate(x))
        v = firstLanes(k, k.fsub(v, mean), left(c));
    }
    Value mean = meanOfSquares(k, x, headDim);
    Value root =
        math::SqrtOp::create(k.b, k.fadd(mean, k.splat(k.f32, op.getEps().convertToDouble())));
    Value inverse = k.broadcast(f32x16, k.fdiv(k.splat(k.f32, 1), root));
    for (auto [c, v] : llvm::enumerate(x)) {
      Value w = weightsOf(weight, head, int64_t(c));
      if (double offset = op.getWeightOffset().convertToDouble())
        w = k.fadd(w, k.splat(f32x16, offset));
      v = k.fmul(k.fmul(v, inverse), w);
    }
    return x;
  }

  //===--- Rotation ---------------------------------------------------------===//

  struct Pair {
    Value a, b;
  };
  Pair rotatePair(Value a, Value c, Value cosine, Value sine) {
    return {k.fsub(k.fmul(a, cosine), k.fmul(c, sine)), k.fadd(k.fmul(c, cosine), k.fmul(a, sine))};
  }

  Values rotate(Values x) {
    if (!rotary)
      return x;
    if (op.getStyle() == lm::RopeStyle::Interleaved)
      return rotateInterleaved(x);
    return rotary / 2 % kRowLanes ? rotateHalvesInMemory(x) : rotateHalves(x);
  }

  Values rotateHalves(Values x) {
    int64_t half = rotary / 2;
    for (int64_t c = 0; c < half / kRowLanes; ++c) {
      Value cosine = k.load(f32x16, k.at(table, c * 64), 64);
      Value sine = k.load(f32x16, k.at(table, half * 4 + c * 64), 64);
      Value &a = x[c], &b = x[c + half / kRowLanes];
      Pair rotated = rotatePair(a, b, cosine, sine);
      a = rotated.a, b = rotated.b;
    }
    return x;
  }

  /// Rotates the head in scratch memory, with unaligned loads of pairs. Lanes past the rotary part
  /// read the bytes that follow (scratch has room) and are not stored.
  Values rotateHalvesInMemory(Values x) {
    int64_t half = rotary / 2;
    for (auto [c, v] : llvm::enumerate(x))
      k.store(v, k.at(k.scratch, c * 64), 64);
    for (int64_t i = 0; i < half; i += kRowLanes) {
      Value atA = k.at(k.scratch, i * 4), atB = k.at(k.scratch, (i + half) * 4);
      int64_t count = half - i;
      Value cosine = loadFirst(k, k.f32, k.at(table, i * 4), count);
      Value sine = loadFirst(k, k.f32, k.at(table, (half + i) * 4), count);
      Pair rotated = rotatePair(k.load(f32x16, atA), k.load(f32x16, atB), cosine, sine);
      storeFirst(k, rotated.a, atA, count);
      storeFirst(k, rotated.b, atB, count);
    }
    for (auto [c, v] : llvm::enumerate(x))
      v = k.load(f32x16, k.at(k.scratch, c * 64), 64);
    return x;
  }

  /// Rotates pairs (2i, 2i+1), which never straddle two vectors. A vector takes 8 cosines, each twice. A
  /// shuffle gives the other element of each pair. The sign of the sine provides the minus in a'.
  Values rotateInterleaved(Values x) {
    int64_t half = rotary / 2;
    SmallVector<int64_t> twice, swapped;
    for (int64_t i = 0; i < kRowLanes; ++i)
      twice.push_back(i / 2), swapped.push_back(i ^ 1);
    SmallVector<int32_t> signs;
    for (int64_t i = 0; i < kRowLanes; ++i)
      signs.push_back(i % 2 ? 0 : INT32_MIN);
    auto i32x16 = k.vec(k.i32, kRowLanes);
    Value minusFirst = k.constant(signs);
    for (int64_t c = 0; c * kRowLanes < rotary; ++c) {
      int64_t pairs = half - c * 8;
      Value cosine = loadFirst(k, k.f32, k.at(table, c * 32), std::min<int64_t>(pairs, 8));
      Value sine = loadFirst(k, k.f32, k.at(table, half * 4 + c * 32), std::min<int64_t>(pairs, 8));
      cosine = shuffle(k, cosine, cosine, twice);
      sine = k.bitcast(i32x16, shuffle(k, sine, sine, twice));
      sine = k.bitcast(f32x16, arith::XOrIOp::create(k.b, sine, minusFirst));
      Value other = shuffle(k, x[c], x[c], swapped);
      Value rotated = k.fadd(k.fmul(x[c], cosine), k.fmul(other, sine));
      x[c] = pairs >= 8 ? rotated : k.select(firstLanesMask(k, 2 * pairs), rotated, x[c]);
    }
    return x;
  }

  //===--- The cache --------------------------------------------------------===//

  /// Stores elements one by one, `stride` bytes apart (through scratch, which is cheaper than lane extraction).
  void storeElements(ArrayRef<Value> x, int64_t count, Value to, int64_t stride) {
    int64_t bytes = elementBytes();
    for (auto [c, v] : llvm::enumerate(x))
      k.store(roundToStored(k, v, kv.getFormat()), k.at(k.scratch, c * kRowLanes * bytes));
    constexpr int64_t unroll = 8;
    auto copy = [&](Value from, Value to, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        k.store(k.load(elementType, k.at(from, i * bytes)), k.at(to, i * stride));
    };
    int64_t full = count / unroll;
    if (full)
      k.loop(0, full, 1, [&](Value i) {
        copy(k.at(k.scratch, k.mul(i, unroll * bytes)), k.at(to, k.mul(i, unroll * stride)),
             unroll);
      });
    copy(k.at(k.scratch, full * unroll * bytes), k.at(to, full * unroll * stride), count % unroll);
  }

  void appendCodes(const Values &x, Value pool, Value head, Value slot, bool ofV) {
    if (kv.getFormat() == KvFormat::Int4)
      appendInt4(x, pool, head, slot, ofV);
    else
      appendInt8(x, pool, head, slot, ofV);
  }

  /// Stores a vector of K or V as codes and a scale for each 32 (KvInt4.h).
  void appendInt4(Values x, Value pool, Value head, Value slot, bool ofV) {
    if (!ofV) {
      x = hadamard(k, x, headDim);
      for (Value &v : x)
        v = k.fmul(v, k.splat(f32x16, 1.0 / double(kvInt8Block(headDim))));
    }
    const int64_t groups = headDim / kKvInt4Group, lineBytes = headDim / 2;
    const int64_t codesOfV = kv.getKvHeads() * lineBytes * kPageTokens;
    const int64_t scalesOfV = kv.getKvHeads() * groups * kPageTokens * 2;
    Value line = k.add(k.mul(head, kPageTokens), slot);
    Value scales = k.at(pool, 2 * codesOfV + (ofV ? scalesOfV : 0));
    for (int64_t g = 0; g < groups; ++g) {
      QuantizedVector q = quantizeVector(k, {x[2 * g], x[2 * g + 1]}, /*least=*/0, /*most=*/7);
      Value place = ofV ? k.add(k.mul(line, groups), g)
                        : k.add(k.mul(k.add(k.mul(head, groups), g), kPageTokens), slot);
      k.store(roundToStored(k, q.scale, KvFormat::F16), k.at(scales, k.mul(place, 2)));
      Value low = k.add(q.codes[0], 8), high = k.shiftLeft(k.add(q.codes[1], 8), 4);
      Value bytes = k.narrow(arith::OrIOp::create(k.b, low, high), k.vec(k.i8, kRowLanes));
      if (ofV) {
        k.store(bytes, k.at(k.at(pool, codesOfV + g * kRowLanes), k.mul(line, lineBytes)), 1);
        continue;
      }
      k.store(bytes, k.scratch, 16);
      Value to = k.at(k.at(pool, k.mul(head, lineBytes * kPageTokens)), slot);
      for (int64_t i = 0; i < kRowLanes; ++i)
        k.store(k.load(k.i8, k.at(k.scratch, i)), k.at(to, (g * kRowLanes + i) * kPageTokens));
    }
  }

  /// Stores a vector of K or V as codes and a scale (KvInt8.h).
  void appendInt8(const Values &x, Value pool, Value head, Value slot, bool ofV) {
    QuantizedVector q = quantizeVector(k, ofV ? x : hadamard(k, x, headDim), kKvInt8LeastScale);
    int64_t codesOfV = kv.getKvHeads() * headDim * kPageTokens;
    Value line = k.add(k.mul(k.add(head, ofV ? kv.getKvHeads() : 0), kPageTokens), slot);
    k.store(q.scale, k.at(k.at(pool, 2 * codesOfV), k.mul(line, 4)));
    Value codes = k.at(pool, k.mul(head, headDim * kPageTokens));
    if (ofV)
      storeBytesOfV(q.codes, k.at(codes, codesOfV), slot);
    else
      storeDwordsOfK(q.codes, k.at(codes, k.mul(slot, 4)));
  }

  /// Stores four elements as four bytes, at the same place in each line.
  void storeDwordsOfK(ArrayRef<Value> codes, Value to) {
    VectorType dwords = k.vec(k.i32, 4);
    for (auto [c, v] : llvm::enumerate(codes)) {
      Value bytes = k.narrow(v, k.vec(k.i8, kRowLanes));
      bytes = arith::XOrIOp::create(k.b, bytes, k.splatInt(bytes.getType(), -128));
      bytes = k.bitcast(dwords, bytes);
      for (int64_t i = 0; i < std::min<int64_t>(left(c), kRowLanes) / 4; ++i)
        k.store(k.lane(bytes, i), k.at(to, (int64_t(c) * 4 + i) * kPageTokens * 4), 4);
    }
  }

  /// Each element is a byte of a dword. Other positions have the other bytes, and another thread may be
  /// writing them, so only that byte is written.
  void storeBytesOfV(ArrayRef<Value> codes, Value to, Value slot) {
    Value place = k.remUnsigned(slot, 4);
    to = k.at(to, k.mul(k.sub(slot, place), headDim));
    if (k.lanes < kRowLanes) { // no byte masks: through scratch
      for (auto [c, v] : llvm::enumerate(codes))
        k.store(k.narrow(v, k.vec(k.i8, kRowLanes)), k.at(k.scratch, int64_t(c) * kRowLanes));
      k.loop(0, headDim, 4, [&](Value d) {
        for (int64_t i = 0; i < 4; ++i)
          k.store(k.load(k.i8, k.at(k.at(k.scratch, d), i)),
                  k.at(k.at(k.at(to, place), k.mul(d, 4)), 4 * i));
      });
      return;
    }
    VectorType dwords = k.vec(k.i32, kRowLanes), bytes = k.vec(k.i8, 4 * kRowLanes);
    Value bits = k.broadcast(dwords, k.narrow(k.mul(place, 8), k.i32));
    for (auto [c, v] : llvm::enumerate(codes)) {
      SmallVector<uint8_t> ofElement;
      for (int64_t i = 0; i < 4 * kRowLanes; ++i)
        ofElement.push_back(i / 4 < left(c) ? uint8_t(i % 4) : uint8_t(255));
      Value places = k.constant(ofElement);
      Value mask = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, places,
                                         k.broadcast(bytes, k.narrow(place, k.i8)));
      Value shifted = arith::ShLIOp::create(k.b, v, bits);
      LLVM::MaskedStoreOp::create(k.b, k.bitcast(bytes, shifted), k.at(to, int64_t(c) * 64), mask,
                                  1);
    }
  }

  KernelBuilder &k;
  kernel::RopeAppendOp op;
  kernel::KvPoolType kv;
  int64_t headDim, rotary;
  VectorType f32x16;
  Type elementType;
  Value table; ///< the token's row of the rope table
};

} // namespace

LogicalResult ingot::codegen::cpu::emitRopeAppend(KernelBuilder &k, kernel::RopeAppendOp op) {
  kernel::KvPoolType kv = op.getKv().getType();
  const KvFormatInfo &format = kvFormat(kv.getFormat());
  if (!format.cpu)
    return op.emitOpError("expects a KV pool of ")
           << kvFormatNames(isOfCpus, "or") << " on CPUs, got " << kv;
  if (kv.getHeadDim() % format.step != 0)
    return op.emitOpError("expects heads of a multiple of ")
           << format.step << " elements for a KV pool of " << format.name << ", got " << kv;
  RopeAppendEmitter(k, op).emit();
  return success();
}

/// Room for one head and for a vector after it.
int64_t ingot::codegen::cpu::ropeAppendScratchBytes(kernel::RopeAppendOp op) {
  return (roundUp(op.getKv().getType().getHeadDim(), kRowLanes) + kRowLanes) * 4;
}
