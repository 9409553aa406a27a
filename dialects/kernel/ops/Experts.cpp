//===- Experts.cpp - Routing of tokens to experts ---------------------------===//
#include "dialects/kernel/ops/Experts.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Experts.cpp.inc"

LogicalResult RouteOp::verify() {
  const RoutesType routes = routesType();
  const ActivationType logits = getLogits().getType();
  if (logits.getKind() != RowKind::F32 || logits.getN() != routes.getExperts()) // route_c1
    return emitOpError("expects an f32 logit for each of ") << routes.getExperts() << " experts";
  for (Value vector : {getBias(), getExpertScale()}) // route_c2
    if (vector &&
        cast<lm::WeightType>(vector.getType()).getShape() != ArrayRef(routes.getExperts()))
      return emitOpError("expects vectors with a value for each expert");
  return success();
}

LogicalResult CombineOp::verify() {
  if (getX().getType().getKind() != RowKind::F32 ||
      getX().getType() != getOutput().getType()) // combine_c1
    return emitOpError("expects f32 rows of one width");
  return success();
}

/// Counts one comparison of each score for each expert that is chosen.
int64_t RouteOp::operationsPerUnit() {
  return routesType().getExperts() * (routesType().getUsed() + 1);
}
WorkItems GroupRoutesOp::workItems() { return {WorkItems::Constant, 1, false}; }
int64_t CombineOp::rowsOfUnit(Value operand) {
  return operand == getX() ? getRoutes().getType().getUsed() : 1;
}
int64_t CombineOp::operationsPerUnit() {
  return 2 * getOutput().getType().getN() * getRoutes().getType().getUsed();
}
