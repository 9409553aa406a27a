//===- Quantize.cpp - See Quantize.h --------------------------------------===//
#include "codegen/cpu/Quantize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;

/// max |v| as the bits of an f32: those of non-negative floats are ordered as integers are.
static Value absoluteMaximum(KernelBuilder &k, ArrayRef<Value> values) {
  Value most;
  for (Value v : values) {
    Value bits = k.bitAnd(k.bitcast(k.i32s, v), 0x7fffffff);
    most = most ? k.maxSigned(most, bits) : bits;
  }
  return k.bitcast(k.f32, k.maxLanesSigned(most));
}

/// To the nearest integer, ties to even: vcvtps2dq in the default rounding mode.
static Value roundToInts(KernelBuilder &k, Value v) {
  if (k.lanes == 8)
    return k.intrinsic("llvm.x86.avx.cvt.ps2dq.256", k.i32s, v);
  Value zeros = k.splatInt(k.i32s, 0), all = k.integer(k.i16, -1), nearest = k.integer(k.i32, 8);
  return k.intrinsic("llvm.x86.avx512.mask.cvtps2dq.512", k.i32s, {v, zeros, all, nearest});
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

/// -(sum of the first 16), -(sum of the last 16) of 32 s8, as 2 x i32. vpsadbw adds eight unsigned
/// bytes, each of them 128 too large.
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

/// 32 values, scaled by their largest and rounded.
struct Group {
  KernelBuilder::Values codes; ///< i32 registers, -127 … 127
  Value scale;                 ///< f32: amax / 127
  Value factor;                ///< f32s: 127 / amax, or 0
};

Group quantize(KernelBuilder &k, ArrayRef<Value> values) {
  Value amax = absoluteMaximum(k, values);
  // 127/amax is infinite for 0 (and for denormals, which count as 0).
  Value inverse = k.fdiv(k.splat(k.f32, 127), amax);
  Value finite = k.less(k.bitcast(k.i32, inverse), k.integer(k.i32, 0x7f800000));
  Group group{{},
              k.fdiv(amax, k.splat(k.f32, 127)),
              k.broadcast(k.f32s, k.select(finite, inverse, k.splat(k.f32, 0)))};
  for (Value v : values)
    group.codes.push_back(roundToInts(k, k.fmul(v, group.factor)));
  return group;
}

/// What `group` left of `values`, in units of 1/256 of its scale.
KernelBuilder::Values quantizeRest(KernelBuilder &k, ArrayRef<Value> values, const Group &group) {
  Value negScale = k.broadcast(k.f32s, k.fsub(k.splat(k.f32, 0), group.scale));
  KernelBuilder::Values codes;
  for (auto [v, high] : llvm::zip_equal(values, group.codes)) {
    Value rest = k.fmul(k.fma(k.toFloat(high), negScale, v), group.factor); // within +-1/2
    Value rounded = roundToInts(k, k.fmul(rest, k.splat(256)));
    codes.push_back(k.minSigned(k.maxSigned(rounded, k.splatInt(k.i32s, -127)),
                                k.splatInt(k.i32s, 127)));
  }
  return codes;
}

/// Writes the fields of one plane; `above`: the sum of the plane before in units of this one, or
/// null. Returns the sum of all.
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

void ingot::cpu::storeQuantizedGroup(KernelBuilder &k, ArrayRef<Value> values, Value row,
                                     Value group, const Q8Row &layout) {
  Group high = quantize(k, values);
  storePlane(k, high.codes, high.scale, Value(), row, group, layout);
}

void ingot::cpu::storeTwoPlanes(KernelBuilder &k, ArrayRef<Value> values, Value row, Value group,
                                const Q8Row &layout) {
  Group high = quantize(k, values);
  KernelBuilder::Values low = quantizeRest(k, values, high);
  Value sum = storePlane(k, high.codes, high.scale, Value(), row, group, layout);
  storePlane(k, low, k.fmul(high.scale, k.splat(k.f32, 1.0 / 256)), k.shiftLeft(sum, 8),
             k.at(row, layout.bytes), group, layout);
}
