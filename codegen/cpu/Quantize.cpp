//===- Quantize.cpp - See Quantize.h --------------------------------------===//
#include "codegen/cpu/Quantize.h"
#include "codegen/cpu/RowwiseLanes.h"

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

KernelBuilder::Values ingot::cpu::storeQuantizedGroup(KernelBuilder &k, ArrayRef<Value> values,
                                                      Value row, Value group, const Q8Row &layout) {
  Value amax = absoluteMaximum(k, values);
  Value scale = k.fdiv(amax, k.splat(k.f32, 127));
  // 127/amax is infinite for 0 (and for denormals, which count as 0).
  Value inverse = k.fdiv(k.splat(k.f32, 127), amax);
  Value finite = k.less(k.bitcast(k.i32, inverse), k.integer(k.i32, 0x7f800000));
  Value factor = k.broadcast(k.f32s, k.select(finite, inverse, k.splat(k.f32, 0)));
  Value negScale = k.broadcast(k.f32s, k.fsub(k.splat(k.f32, 0), scale));

  KernelBuilder::Values rounded, rest;
  for (Value v : values) {
    rounded.push_back(roundToInts(k, k.fmul(v, factor)));
    rest.push_back(k.fma(k.toFloat(rounded.back()), negScale, v));
  }
  Value q = k.narrow(concatenate(k, rounded), k.vec(k.i8, kGroupK));
  k.store(q, k.at(row, k.mul(group, kGroupK)), kGroupK);

  Value halves = negatedSums(k, q);
  k.store(halves, k.at(k.at(row, k.mul(group, 8)), layout.negSum16Offset), 8);
  Value negSum = k.add(k.lane(halves, 0), k.lane(halves, 1));
  Value fields = k.at(row, k.mul(group, 4));
  k.store(scale, k.at(fields, layout.scaleOffset));
  k.store(k.fmul(scale, k.toFloat(k.sub(k.integer(k.i32, 0), negSum))),
          k.at(fields, layout.scaledSumOffset));
  k.store(negSum, k.at(fields, layout.negSumOffset));
  return rest;
}

Value ingot::cpu::roundToIntegers(KernelBuilder &k, Value sixteen) {
  SmallVector<Value> rounded;
  for (Value v : registersOf(k, sixteen))
    rounded.push_back(roundToInts(k, v));
  return concatenate(k, std::move(rounded));
}

QuantizedVector ingot::cpu::quantizeVector(KernelBuilder &k, ArrayRef<Value> sixteens,
                                           double least) {
  KernelBuilder::Values registers = registersOf(k, sixteens);
  Value amax = absoluteMaximum(k, registers);
  QuantizedVector result;
  result.scale = k.fdiv(amax, k.splat(k.f32, 127));
  Value inverse = k.fdiv(k.splat(k.f32, 127), amax), zero = k.splat(k.f32, 0);
  Value finite = k.less(k.bitcast(k.i32, inverse), k.integer(k.i32, 0x7f800000));
  if (least != 0) { // NaN is not small: it stays
    Value floor = k.splat(k.f32, least);
    Value small = arith::CmpFOp::create(k.b, arith::CmpFPredicate::OLT, result.scale, floor);
    result.scale = k.select(small, floor, result.scale);
    inverse = k.select(small, zero, inverse);
  }
  Value factor = k.broadcast(k.f32s, k.select(finite, inverse, zero));
  KernelBuilder::Values rounded;
  for (Value v : registers)
    rounded.push_back(roundToInts(k, k.fmul(v, factor)));
  for (size_t at = 0, step = kRowLanes / k.lanes; at < rounded.size(); at += step)
    result.codes.push_back(
        concatenate(k, SmallVector<Value>(rounded.begin() + at, rounded.begin() + at + step)));
  return result;
}

Value ingot::cpu::roundToBytes(KernelBuilder &k, ArrayRef<Value> sixteens) {
  KernelBuilder::Values words;
  for (Value v : registersOf(k, sixteens))
    words.push_back(roundToInts(k, v));
  StringRef toHalves = k.lanes == 16 ? "llvm.x86.avx512.packusdw.512" : "llvm.x86.avx2.packusdw",
            toBytes = k.lanes == 16 ? "llvm.x86.avx512.packuswb.512" : "llvm.x86.avx2.packuswb";
  VectorType halves = k.vec(k.i16, 2 * k.lanes), bytes = k.vec(k.i8, 4 * k.lanes);
  assert(words.size() == 4 && "a register of bytes");
  return k.intrinsic(toBytes, bytes,
                     {k.intrinsic(toHalves, halves, {words[0], words[1]}),
                      k.intrinsic(toHalves, halves, {words[2], words[3]})});
}
