//===- Quantize.cpp - See Quantize.h --------------------------------------===//
#include "codegen/cpu/Quantize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

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

KernelBuilder::Values ingot::cpu::storeQuantizedGroup(KernelBuilder &k, ArrayRef<Value> values, Value row, Value group,
                                     const Q8Row &layout) {
  Value amax = absoluteMaximum(k, values);
  Value scale = k.fdiv(amax, k.splat(k.f32, 127));
  // 127/amax is infinite for 0 (and for denormals, which count as 0).
  Value inverse = k.fdiv(k.splat(k.f32, 127), amax);
  Value finite = k.less(k.bitcast(k.i32, inverse), k.integer(k.i32, 0x7f800000));
  Value factor = k.broadcast(k.f32s, k.select(finite, inverse, k.splat(k.f32, 0)));

  Value codes = k.at(row, k.mul(group, kGroupK));
  Value sums[2]; // of each 16
  KernelBuilder::Values rest;
  Value negScale = k.broadcast(k.f32s, k.fsub(k.splat(k.f32, 0), scale));
  for (size_t v = 0; v < values.size(); ++v) {
    Value rounded = math::RoundEvenOp::create(k.b, k.fmul(values[v], factor));
    rest.push_back(k.fma(rounded, negScale, values[v]));
    Value q = arith::FPToSIOp::create(k.b, k.i32s, rounded);
    k.store(k.narrow(q, k.vec(k.i8, k.lanes)), k.at(codes, int64_t(v) * k.lanes), k.lanes);
    Value &sum = sums[v * k.lanes / 16];
    sum = sum ? k.add(sum, q) : q;
  }
  Value zero = k.integer(k.i32, 0), negative[2];
  for (int half = 0; half < 2; ++half) {
    negative[half] = k.sub(zero, k.sumLanes(sums[half]));
    k.store(negative[half], k.at(k.at(row, k.mul(group, 8)), layout.negSum16Offset + 4 * half));
  }
  Value negSum = k.add(negative[0], negative[1]);
  Value fields = k.at(row, k.mul(group, 4));
  k.store(scale, k.at(fields, layout.scaleOffset));
  k.store(k.fmul(scale, k.toFloat(k.sub(zero, negSum))), k.at(fields, layout.scaledSumOffset));
  k.store(negSum, k.at(fields, layout.negSumOffset));
  return rest;
}
