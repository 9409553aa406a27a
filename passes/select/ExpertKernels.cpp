//===- ExpertKernels.cpp - Kernels that route and combine experts' rows ------===//
// The experts themselves are projections and row-wise kernels (KernelSelection.cpp).
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Experts.h"
#include "dialects/lm/ops/Experts.h"
#include "passes/select/KernelSelection.h"

using namespace mlir;
using namespace ingot;

LogicalResult KernelSelection::selectRoute(lm::RouteOp op) {
  SmallVector<Value> operands{op.getLogits()};
  for (Value vector : {op.getBias(), op.getExpertScale()})
    if (vector)
      operands.push_back(vector);
  dispatch("route", "routes", operands, Result(op.getRoutes()),
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             kernel::RouteOp::create(b, in[0], op.getBias() ? in[1] : Value(),
                                     op.getExpertScale() ? in.back() : Value(), out[0],
                                     op.getScoreAttr(), op.getNormalizeAttr(), op.getGroupsAttr(),
                                     op.getUsedGroupsAttr(), op.getGroupScoreAttr(),
                                     op.getNormEpsAttr(), op.getNormFloorAttr(), op.getScaleAttr());
           });
  dispatch("group_routes", "routes", Value(op.getRoutes()), Result(op.getRoutes(), 0),
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange) {
             kernel::GroupRoutesOp::create(b, in[0]);
           });
  return success();
}

LogicalResult KernelSelection::selectCombine(lm::CombineOp op) {
  dispatch("combine", "combined", {op.getX(), op.getRoutes()}, Result(op),
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             kernel::CombineOp::create(b, in[0], in[1], out[0]);
           });
  return success();
}
