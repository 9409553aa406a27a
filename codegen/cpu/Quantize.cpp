//===- Quantize.cpp - See Quantize.h --------------------------------------===//
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/RowwiseLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

/// Returns max |v| by lane, as the bits of an f32. The bits of non-negative floats have the order of
/// integers.
static Value absoluteMaximum(KernelBuilder &k, ArrayRef<Value> values) {
  Value most;
  for (Value v : values) {
    Value bits = k.bitAnd(k.bitcast(k.i32s, v), 0x7fffffff);
    most = most ? k.maxSigned(most, bits) : bits;
  }
  return most;
}

/// Returns the largest lane of each of up to `lanes` vectors. The result for vector i is in the lanes
/// starting at i * lanes / n, where n is the number of vectors rounded up to a power of two. As long as
/// there are several vectors, the halves of two vectors are combined into one. So eight vectors take 14
/// steps instead of 32.
static Value largestOfEach(KernelBuilder &k, SmallVector<Value> vectors) {
  vectors.resize(llvm::PowerOf2Ceil(vectors.size()), vectors.back());
  int64_t width = k.lanes; // adjacent lanes that remain of each source
  auto fold = [&](Value a, Value b, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
    return k.maxSigned(vector::ShuffleOp::create(k.b, a, b, low),
                       vector::ShuffleOp::create(k.b, a, b, high));
  };
  while (vectors.size() > 1) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < 2 * k.lanes; ++lane)
      (lane % width < width / 2 ? low : high).push_back(lane);
    width /= 2;
    SmallVector<Value> folded;
    for (size_t i = 0; i < vectors.size(); i += 2)
      folded.push_back(fold(vectors[i], vectors[i + 1], low, high));
    vectors = std::move(folded);
  }
  for (int64_t distance = width / 2; distance; distance /= 2) {
    SmallVector<int64_t> own, other;
    for (int64_t lane = 0; lane < k.lanes; ++lane)
      own.push_back(lane), other.push_back(lane ^ distance);
    vectors[0] = fold(vectors[0], vectors[0], own, other);
  }
  return vectors[0];
}

static Value concatenate(KernelBuilder &k, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> joined;
    for (size_t i = 0; i < parts.size(); i += 2) {
      int64_t lanes = cast<VectorType>(parts[i].getType()).getNumElements();
      auto order = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
      joined.push_back(vector::ShuffleOp::create(k.b, parts[i], parts[i + 1], order));
    }
    parts = std::move(joined);
  }
  return parts.front();
}

/// Returns -(sum of the first 16) and -(sum of the last 16) of 32 s8, as 2 x i32. vpsadbw adds eight
/// unsigned bytes, each of which is 128 too large.
static Value negatedSums(KernelBuilder &k, Value q) {
  Value biased = arith::XOrIOp::create(k.b, q, k.splatInt(q.getType(), -128));
  Value eights =
      k.intrinsic("llvm.x86.avx2.psad.bw", k.vec(k.i64, 4), {biased, k.splatInt(q.getType(), 0)});
  Value even = vector::ShuffleOp::create(k.b, eights, eights, ArrayRef<int64_t>{0, 2});
  Value odd = vector::ShuffleOp::create(k.b, eights, eights, ArrayRef<int64_t>{1, 3});
  VectorType pair = k.vec(k.i32, 2);
  return k.sub(k.splatInt(pair, 16 * 128), k.narrow(k.add(even, odd), pair));
}

namespace {

/// 32 values, scaled by their largest magnitude and rounded.
struct Group {
  KernelBuilder::Values codes; ///< i32 registers, -127 … 127
  Value scale;                 ///< f32: amax / 127
  Value factor;                ///< f32s: 127 / amax, or 0
};

/// Returns amax/most and most/amax of an f32 `amax`, scalar or vector. The latter is 0 where it would
/// be infinite: for 0, and for denormals, which count as 0.
std::pair<Value, Value> scalesOf(KernelBuilder &k, Value amax, double most = 127) {
  auto type = dyn_cast<VectorType>(amax.getType());
  auto number = [&](double v) { return type ? k.splat(type, v) : k.splat(k.f32, v); };
  Value inverse = k.fdiv(number(most), amax);
  Value bits = k.bitcast(type ? Type(k.i32s) : k.i32, inverse);
  Value limit = type ? k.splatInt(type.clone(k.i32), 0x7f800000) : k.integer(k.i32, 0x7f800000);
  return {k.fdiv(amax, number(most)), k.select(k.less(bits, limit), inverse, number(0))};
}

Group quantize(KernelBuilder &k, ArrayRef<Value> values, Value scale, Value factor) {
  Group group{{}, scale, factor};
  for (Value v : values)
    group.codes.push_back(k.toNearestInts(k.fmul(v, factor)));
  return group;
}

Group quantize(KernelBuilder &k, ArrayRef<Value> values) {
  Value amax = k.bitcast(k.f32, k.maxLanesSigned(absoluteMaximum(k, values)));
  auto [scale, inverse] = scalesOf(k, amax);
  return quantize(k, values, scale, k.broadcast(k.f32s, inverse));
}

/// Quantises the residual of `values` after `group`, in units of 1/256 of its scale.
KernelBuilder::Values quantizeRest(KernelBuilder &k, ArrayRef<Value> values, const Group &group) {
  Value negScale = k.broadcast(k.f32s, k.fsub(k.splat(k.f32, 0), group.scale));
  KernelBuilder::Values codes;
  for (auto [v, high] : llvm::zip_equal(values, group.codes)) {
    Value rest = k.fmul(k.fma(k.toFloat(high), negScale, v), group.factor); // within +-1/2
    Value rounded = k.toNearestInts(k.fmul(rest, k.splat(256)));
    Value bounded =
        k.minSigned(k.maxSigned(rounded, k.splatInt(k.i32s, -127)), k.splatInt(k.i32s, 127));
    // If the group has an infinity, all residuals are NaN. They become 0, as in the first plane.
    Value isNumber = arith::CmpFOp::create(k.b, arith::CmpFPredicate::ORD, rest, rest);
    codes.push_back(k.select(isNumber, bounded, k.splatInt(k.i32s, 0)));
  }
  return codes;
}

/// Writes the fields of one plane. `above` is the sum of the previous plane in units of this one, or
/// null. Returns the total sum.
Value storePlane(KernelBuilder &k, ArrayRef<Value> codes, Value scale, Value above, Value row,
                 Value group, const Q8Row &layout) {
  Value q = k.narrow(concatenate(k, KernelBuilder::Values(codes)), k.vec(k.i8, kGroupK));
  k.store(q, k.at(row, k.mul(group, kGroupK)), kGroupK);
  Value halves = negatedSums(k, q);
  k.store(halves, k.at(k.at(row, k.mul(group, 8)), layout.negSum16Offset), 8);
  Value negSum = k.add(k.lane(halves, 0), k.lane(halves, 1));
  Value sum = k.sub(above ? above : k.integer(k.i32, 0), negSum);
  Value fields = k.at(row, k.mul(group, 4));
  k.store(scale, k.at(fields, layout.scaleOffset));
  k.store(k.fmul(scale, k.toFloat(sum)), k.at(fields, layout.scaledSumOffset));
  k.store(negSum, k.at(fields, layout.negSumOffset));
  return sum;
}

} // namespace

void ingot::codegen::cpu::storeQuantizedGroup(KernelBuilder &k, ArrayRef<Value> values, Value row,
                                              Value group, const Q8Row &layout) {
  Group high = quantize(k, values);
  storePlane(k, high.codes, high.scale, Value(), row, group, layout);
}

void ingot::codegen::cpu::storeQuantizedGroups(KernelBuilder &k,
                                               ArrayRef<KernelBuilder::Values> values,
                                               ArrayRef<Value> rows, Value group,
                                               const Q8Row &layout) {
  if (values.size() == 1)
    return storeQuantizedGroup(k, values.front(), rows.front(), group, layout);
  if (values.size() > size_t(k.lanes)) { // each row takes a lane
    storeQuantizedGroups(k, values.take_front(k.lanes), rows.take_front(k.lanes), group, layout);
    return storeQuantizedGroups(k, values.drop_front(k.lanes), rows.drop_front(k.lanes), group,
                                layout);
  }
  SmallVector<Value> largest;
  for (const KernelBuilder::Values &row : values)
    largest.push_back(absoluteMaximum(k, row));
  auto [scales, factors] = scalesOf(k, k.bitcast(k.f32s, largestOfEach(k, largest)));
  int64_t apart = k.lanes / int64_t(llvm::PowerOf2Ceil(values.size()));
  for (auto [i, row] : llvm::enumerate(values)) {
    SmallVector<int64_t> lane(k.lanes, int64_t(i) * apart);
    Value factor = vector::ShuffleOp::create(k.b, factors, factors, lane);
    Group codes = quantize(k, row, k.lane(scales, lane.front()), factor);
    storePlane(k, codes.codes, codes.scale, Value(), rows[i], group, layout);
  }
}

void ingot::codegen::cpu::storeTwoPlanes(KernelBuilder &k, ArrayRef<Value> values, Value row,
                                         Value group, const Q8Row &layout) {
  Group high = quantize(k, values);
  KernelBuilder::Values low = quantizeRest(k, values, high);
  Value sum = storePlane(k, high.codes, high.scale, Value(), row, group, layout);
  storePlane(k, low, k.fmul(high.scale, k.splat(k.f32, 1.0 / 256)), k.shiftLeft(sum, 8),
             k.at(row, layout.bytes), group, layout);
}

Value ingot::codegen::cpu::roundToIntegers(KernelBuilder &k, Value sixteen) {
  SmallVector<Value> rounded;
  for (Value v : registersOf(k, sixteen))
    rounded.push_back(k.toNearestInts(v));
  return concatenate(k, std::move(rounded));
}

QuantizedVector ingot::codegen::cpu::quantizeVector(KernelBuilder &k, ArrayRef<Value> sixteens,
                                                    double least, double most) {
  KernelBuilder::Values registers = registersOf(k, sixteens);
  Value bits = k.maxLanesSigned(absoluteMaximum(k, registers)), amax = k.bitcast(k.f32, bits);
  QuantizedVector result;
  auto [scale, inverse] = scalesOf(k, amax, most);
  // An infinity has no code, so the scale becomes NaN, as it does if a value is NaN.
  Value isNumber = k.less(bits, k.integer(k.i32, 0x7f800000));
  result.scale =
      k.select(isNumber, scale, k.splat(k.f32, std::numeric_limits<double>::quiet_NaN()));
  if (least != 0) { // a NaN scale does not compare as small and stays
    Value floor = k.splat(k.f32, least);
    Value small = arith::CmpFOp::create(k.b, arith::CmpFPredicate::OLT, result.scale, floor);
    result.scale = k.select(small, floor, result.scale);
    inverse = k.select(small, k.splat(k.f32, 0), inverse);
  }
  Value factor = k.broadcast(k.f32s, inverse);
  KernelBuilder::Values rounded;
  for (Value v : registers)
    rounded.push_back(k.toNearestInts(k.fmul(v, factor)));
  for (size_t at = 0, step = kRowLanes / k.lanes; at < rounded.size(); at += step)
    result.codes.push_back(
        concatenate(k, SmallVector<Value>(rounded.begin() + at, rounded.begin() + at + step)));
  return result;
}

Value ingot::codegen::cpu::roundToBytes(KernelBuilder &k, ArrayRef<Value> sixteens) {
  KernelBuilder::Values words;
  for (Value v : registersOf(k, sixteens))
    words.push_back(k.toNearestInts(v));
  return k.packToBytes(words);
}
