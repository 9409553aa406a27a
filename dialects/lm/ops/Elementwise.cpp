//===- Elementwise.cpp - Elementwise ops ----------------------------------===//
#include "dialects/lm/ops/Elementwise.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Elementwise.cpp.inc"

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().convertToFloat() == 1.0f ? OpFoldResult(getX()) : OpFoldResult();
}

LogicalResult XieluOp::verify() {
  WeightType type = getLinear().getType();
  if (!type.isVector() || type.rows() != widthOf(getX())) // xielu_c1
    return emitOpError("expects vectors of ") << widthOf(getX()) << " values, got " << type;
  return success();
}

LogicalResult ScaleRowsOp::verify() {
  if (widthOf(getFactors()) != 1) // scale_rows_c1
    return emitOpError("expects one factor for each row, got ") << getFactors().getType();
  return success();
}

bool lm::isElementwise(Operation *op) {
  return isa<AddOp, MulOp, ScaleOp, ActivationOp, SoftcapOp, SwigluOaiOp, XieluOp>(op);
}
