//===- Linear.cpp - Projections -------------------------------------------===//
#include "dialects/lm/ops/Linear.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Linear.cpp.inc"

LogicalResult LinearOp::verify() {
  WeightType weight = getWeight().getType();
  if (weight.isVector() || widthOf(getX()) != weight.columns()) // linear_c1
    return emitOpError("expects x of ")
           << weight.columns() << " values for " << weight << ", got " << getX().getType();
  if (widthOf(getResult()) != weight.rows()) // linear_c2
    return emitOpError("expects a result of ")
           << weight.rows() << " values, got " << getResult().getType();
  if (getBias()) // linear_c3
    return expectVector(*this, getBias().getType(), weight.rows(), "the bias");
  return success();
}
