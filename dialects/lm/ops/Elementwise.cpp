//===- Elementwise.cpp - Value by value -----------------------------------===//
#include "dialects/lm/ops/Elementwise.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Elementwise.cpp.inc"

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().convertToFloat() == 1.0f ? OpFoldResult(getX()) : OpFoldResult();
}
