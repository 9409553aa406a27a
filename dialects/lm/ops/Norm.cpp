//===- Norm.cpp - Norms of rows and of heads ------------------------------===//
#include "dialects/lm/ops/Norm.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#include "dialects/lm/LmInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/lm/ops/Norm.cpp.inc"

/// Checks that `heads` divides the width of x, and that the weight is as long as a head or a row.
static LogicalResult verifyNorm(NormInterface norm) {
  Operation *op = norm;
  if (failed(expectRows(op, norm.getX(), "x")))
    return failure();
  const int64_t width = widthOf(norm.getX()), heads = int64_t(norm.getHeads());
  if (heads < 1 || width % heads) // rms_norm_c1, layer_norm_c3
    return op->emitOpError("expects heads to divide the width ") << width << ", got " << heads;
  const auto weight = cast<WeightType>(norm.getWeight().getType());
  const bool each = weight.getShape() == ArrayRef<int64_t>(width);
  return expectVector(op, weight, each ? width : width / heads,
                      "the weight"); // rms_norm_c2, layer_norm_c1
}

LogicalResult RmsNormOp::verify() { return verifyNorm(*this); }

LogicalResult LayerNormOp::verify() {
  if (failed(verifyNorm(*this)))
    return failure();
  if (!getBias())
    return success();
  if (getHeads() != 1) // layer_norm_c4
    return emitOpError("expects heads to have no bias");
  return expectVector(*this, getBias().getType(), widthOf(getX()), "the bias"); // layer_norm_c2
}

bool lm::isRowNorm(Operation *op) {
  auto norm = dyn_cast<NormInterface>(op);
  return norm && norm.getHeads() == 1;
}
