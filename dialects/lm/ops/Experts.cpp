//===- Experts.cpp - Routing of tokens to experts --------------------------===//
#include "dialects/lm/ops/Experts.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Experts.cpp.inc"

LogicalResult RouteOp::verify() {
  const RoutesType routes = getRoutes().getType();
  const int64_t experts = routes.getExperts(), groups = getGroups(), of = getUsedGroups();
  if (widthOf(getLogits()) != experts) // route_c1
    return emitOpError("expects logits of ")
           << experts << " experts, got " << getLogits().getType();
  if (groups < 1 || experts % groups != 0 || of < 1 || of > groups ||
      routes.getUsed() > experts / groups * of) // route_c2
    return emitOpError("expects equal groups of experts, some of which are used and hold ")
           << routes.getUsed() << " of them";
  if (getGroupScore() == GroupScore::Top2Sum && experts / groups < 2) // route_c3
    return emitOpError("expects groups of two experts or more for top2sum");
  for (Value vector : {getBias(), getExpertScale()}) // route_c4
    if (vector &&
        failed(expectVector(*this, cast<WeightType>(vector.getType()), experts, "a bias or scale")))
      return failure();
  return success();
}
