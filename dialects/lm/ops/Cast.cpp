//===- Cast.cpp - Rows in the encoding that projections read --------------===//
#include "dialects/lm/ops/Cast.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Cast.cpp.inc"

LogicalResult CastOp::verify() {
  RankedTensorType from = getX().getType(), to = getResult().getType();
  if (to.getShape() != from.getShape() || !isa_and_nonnull<StringAttr>(to.getEncoding())) // cast_c1
    return emitOpError("expects x's rows in an encoding, got ") << to;
  if (to == from) // cast_c2
    return emitOpError("expects x in an encoding other than ") << to;
  return success();
}
