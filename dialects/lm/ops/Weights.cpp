//===- Weights.cpp - See Weights.h ----------------------------------------===//
#include "dialects/lm/ops/Weights.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Weights.cpp.inc"

LogicalResult WeightOp::verify() {
  WeightType type = getType();
  if (getValues() && (!type.isVector() || type.getFormat() != WeightFormat::F32 ||
                      int64_t(getValues()->size()) != type.rows())) // weight_c1
    return emitOpError("expects values to fill a f32 vector of ") << type.rows() << " values";
  if (!getValues() && !getSource()) // weight_c2
    return emitOpError("expects a source tensor or values");
  if (type.isVector() && !type.numeric().isFloat()) // weight_c3
    return emitOpError("expects a vector to be of a float format, got ") << type;
  if (getSource() && isa<RowsAttr>(*getSource())) {
    int64_t rows = 0;
    for (const TensorRows &part : rowsOf(*getSource())) {
      if (part.order.loops.empty())
        return success(); // how many there are, the checkpoint says
      rows += part.order.count(0);
    }
    if (rows != type.matrices() * type.rows()) // weight_c4
      return emitOpError("expects ")
             << type.matrices() * type.rows() << " rows, its source has " << rows;
  }
  return success();
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight = symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight || weight.getType() != getType()) // get_weight_c1
    return emitOpError("expects ") << getWeightAttr() << " to be a weight of type " << getType();
  return success();
}
