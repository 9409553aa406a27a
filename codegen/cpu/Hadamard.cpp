//===- Hadamard.cpp - See Hadamard.h --------------------------------------===//
#include "codegen/cpu/Hadamard.h"
#include "codegen/cpu/RowwiseLanes.h"
#include "runtime/formats/KvInt8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

/// Transforms pairs of lanes `distance` apart. A shuffle gives the partner; the upper lane of a pair is negated by
/// flipping its sign bit.
static Value withinVector(KernelBuilder &k, Value x, int64_t distance) {
  VectorType words = k.vec(k.i32, kRowLanes);
  SmallVector<int64_t> partners;
  SmallVector<int32_t> signs;
  for (int64_t i = 0; i < kRowLanes; ++i) {
    partners.push_back(i ^ distance);
    signs.push_back(i & distance ? INT32_MIN : 0);
  }
  Value own =
      k.bitcast(x.getType(), arith::XOrIOp::create(k.b, k.bitcast(words, x), k.constant(signs)));
  return k.fadd(shuffle(k, x, x, partners), own);
}

KernelBuilder::Values ingot::codegen::cpu::hadamard(KernelBuilder &k, KernelBuilder::Values x,
                                                    int64_t headDim) {
  for (int64_t distance = 1; distance < kvInt8Block(headDim); distance *= 2) {
    if (distance < kRowLanes) {
      for (Value &v : x)
        v = withinVector(k, v, distance);
      continue;
    }
    int64_t vectors = distance / kRowLanes;
    for (int64_t i = 0; i < int64_t(x.size()); ++i)
      if (!(i & vectors)) {
        Value a = x[i], b = x[i + vectors];
        x[i] = k.fadd(a, b), x[i + vectors] = k.fsub(a, b);
      }
  }
  return x;
}
