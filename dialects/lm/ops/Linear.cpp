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
  const int64_t experts = getRoutes() ? getRoutes().getType().getExperts() : 1;
  if (weight.isStack() != bool(getRoutes()) || weight.matrices() != experts) // linear_c4
    return emitOpError("expects a matrix for each of ") << experts << " experts, got " << weight;
  if (getBias() && getRoutes()) { // linear_c5
    const WeightType bias = getBias().getType();
    if (bias.getShape() != ArrayRef<int64_t>({experts, weight.rows(), 1}) ||
        bias.getFormat() != WeightFormat::F32)
      return emitOpError("expects a bias of ")
             << experts << "x" << weight.rows() << "x1 f32, got " << bias;
    return success();
  }
  if (getBias()) // linear_c3
    return expectVector(*this, getBias().getType(), weight.rows(), "the bias");
  return success();
}

// Infers result types for code that creates an op without them. Operands may have any type here: the verifier
// rejects wrong types later, with a better message than a comparison of types could give.

LogicalResult LinearOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         ValueRange operands, DictionaryAttr, OpaqueProperties,
                                         RegionRange, SmallVectorImpl<Type> &types) {
  if (operands.empty())
    return failure();
  auto rows = dyn_cast<RankedTensorType>(operands[0].getType());
  auto weight = operands.size() > 1 ? dyn_cast<WeightType>(operands[1].getType()) : WeightType();
  if (!rows || rows.getRank() != 2 || !weight)
    types.push_back(operands[0].getType());
  else
    types.push_back(
        RankedTensorType::get({rows.getDimSize(0), weight.rows()}, rows.getElementType()));
  return success();
}
