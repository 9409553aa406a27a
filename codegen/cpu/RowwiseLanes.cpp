//===- RowwiseLanes.cpp - See RowwiseLanes.h ------------------------------===//
#include "codegen/cpu/RowwiseLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen::cpu;

Value ingot::codegen::cpu::firstLanesMask(KernelBuilder &k, int64_t count) {
  SmallVector<bool> lanes(kRowLanes, false);
  std::fill_n(lanes.begin(), std::min(count, kRowLanes), true);
  return arith::ConstantOp::create(
      k.b, DenseElementsAttr::get(k.vec(k.b.getI1Type(), kRowLanes), lanes));
}

Value ingot::codegen::cpu::firstLanes(KernelBuilder &k, Value v, int64_t count) {
  if (count >= kRowLanes)
    return v;
  return k.select(firstLanesMask(k, count), v, k.splat(v.getType(), 0));
}

Value ingot::codegen::cpu::loadFirst(KernelBuilder &k, Type element, Value from, int64_t count) {
  VectorType type = k.vec(element, kRowLanes);
  if (count >= kRowLanes)
    return k.load(type, from);
  Value zero = element.isInteger() ? k.splatInt(type, 0) : k.splat(type, 0);
  return LLVM::MaskedLoadOp::create(k.b, type, from, firstLanesMask(k, count), zero,
                                    uint32_t(element.getIntOrFloatBitWidth() / 8));
}

void ingot::codegen::cpu::storeFirst(KernelBuilder &k, Value v, Value to, int64_t count) {
  if (count >= kRowLanes)
    return k.store(v, to);
  uint32_t align = getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth() / 8;
  LLVM::MaskedStoreOp::create(k.b, v, to, firstLanesMask(k, count), align);
}

KernelBuilder::Values ingot::codegen::cpu::registersOf(KernelBuilder &k, ValueRange sixteens) {
  if (k.lanes == kRowLanes)
    return KernelBuilder::Values(sixteens.begin(), sixteens.end());
  KernelBuilder::Values registers;
  for (Value v : sixteens)
    for (int64_t from = 0; from < kRowLanes; from += k.lanes)
      registers.push_back(k.slice(v, from, k.lanes));
  return registers;
}

Value ingot::codegen::cpu::meanOf(KernelBuilder &k, ValueRange sixteens, int64_t n) {
  Value sum = k.splat(k.vec(k.f32, kRowLanes), 0);
  for (Value v : sixteens)
    sum = k.fadd(sum, v);
  return k.fdiv(k.sumLanes(sum), k.splat(k.f32, double(n)));
}

Value ingot::codegen::cpu::meanOfSquares(KernelBuilder &k, ValueRange sixteens, int64_t n) {
  return meanOf(k, llvm::map_to_vector(sixteens, [&](Value v) { return k.fmul(v, v); }), n);
}

Value ingot::codegen::cpu::shuffle(KernelBuilder &k, Value a, Value c, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(k.b, a, c, lanes);
}
