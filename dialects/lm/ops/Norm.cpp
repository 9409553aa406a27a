//===- Norm.cpp - Norms of rows and of heads ------------------------------===//
#include "dialects/lm/ops/Norm.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Norm.cpp.inc"

LogicalResult RmsNormOp::verify() {
  if (failed(expectRows(*this, getX(), "x")))
    return failure();
  int64_t width = widthOf(getX()), heads = getHeads();
  if (heads < 1 || width % heads) // rms_norm_c1
    return emitOpError("expects heads to divide the width ") << width << ", got " << heads;
  return expectVector(*this, getWeight().getType(), width / heads, "the weight"); // rms_norm_c2
}

LogicalResult LayerNormOp::verify() {
  if (failed(expectRows(*this, getX(), "x")) ||
      failed(expectVector(*this, getWeight().getType(), widthOf(getX()),
                          "the weight"))) // layer_norm_c1
    return failure();
  if (getBias()) // layer_norm_c2
    return expectVector(*this, getBias().getType(), widthOf(getX()), "the bias");
  return success();
}

bool lm::isRowNorm(Operation *op) {
  auto norm = dyn_cast<RmsNormOp>(op);
  return isa<LayerNormOp>(op) || (norm && norm.getHeads() == 1);
}
