//===- Rope.cpp - Rotations, and the append to the KV cache ---------------===//
#include "dialects/kernel/ops/Rope.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Rope.cpp.inc"

LogicalResult RopeTableOp::verify() {
  if (!getFrequencies().getType().isVector() ||
      getOutput().getType().getN() != 2 * getFrequencies().getType().rows() ||
      getOutput().getType().getKind() != RowKind::F32) // rope_table_c1
    return emitOpError("expects f32 rows of twice the count of frequencies");
  return success();
}

LogicalResult RopeAppendOp::verify() {
  KvPoolType kv = getKv().getType();
  int64_t width = kv.getKvHeads() * kv.getHeadDim();
  if (activationTypeOf(getK()).getN() != width ||
      activationTypeOf(getV()).getN() != width) // rope_append_c1
    return emitOpError("expects k and v of ") << width << " values for " << kv;
  if (activationTypeOf(getQ()).getN() !=
      static_cast<int64_t>(getHeads()) * kv.getHeadDim()) // rope_append_c2
    return emitOpError("expects q of heads x head_dim values");
  if (getTable() && getTable().getType().getN() > kv.getHeadDim()) // rope_append_c3
    return emitOpError("expects a table of at most head_dim values");
  for (auto [norm, width] :
       {std::pair{getQNorm(), activationTypeOf(getQ()).getN()}, std::pair{getKNorm(), width}})
    if (norm && norm.getType().getShape() != ArrayRef<int64_t>(kv.getHeadDim()) &&
        norm.getType().getShape() != ArrayRef<int64_t>(width)) // rope_append_c4
      return emitOpError("expects norms to be vectors of head_dim values, or of as many a head");
  auto isFused = [](Value value) { return isa<FusedType>(value.getType()); };
  const bool fusedValues = isFused(getQ());
  if (isFused(getK()) != fusedValues || isFused(getV()) != fusedValues ||
      bool(getRotated()) != fusedValues ||
      (fusedValues && getRotated().getType() != getQ().getType())) // rope_append_c5
    return emitOpError("expects rows, or fused values with a fused q as its result");
  if (fusedValues && (getQNorm() || getKNorm() || getTemperature())) // rope_append_c6
    return emitOpError("expects no norms and no temperature of heads whose values are fused");
  if (getTemperature() && (!getTemperature().getType().isVector() ||
                           int64_t(getTemperaturePeriod()) < 1)) // rope_append_c7
    return emitOpError("expects temperature to be a vector, with a period of 1 or more positions");
  if (getCentred() && getNormAfter()) // rope_append_c8
    return emitOpError("expects a norm that subtracts the mean to precede the rotation");
  return success();
}

int64_t RopeAppendOp::operationsPerUnit() {
  return getTable() ? 3 * (activationTypeOf(getQ()).getN() + activationTypeOf(getK()).getN()) : 0;
}
