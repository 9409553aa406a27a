//===- Rows.cpp - Which rows: of the embedding, of a step -----------------===//
#include "dialects/lm/ops/Rows.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Rows.cpp.inc"

LogicalResult EmbedOp::verify() {
  WeightType weight = getWeight().getType();
  if (weight.isVector() || widthOf(getResult()) != weight.columns()) // embed_c1
    return emitOpError("expects rows of ") << weight.columns() << " values from " << weight;
  return success();
}
