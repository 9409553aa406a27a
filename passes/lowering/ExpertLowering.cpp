//===- ExpertLowering.cpp - Launches that route and combine experts' rows ---===//
// The experts themselves are projections and row-wise launches (SectionLowering.cpp).
//===----------------------------------------------------------------------===//
#include "dialects/kernel/ops/Experts.h"
#include "dialects/lm/ops/Experts.h"
#include "passes/lowering/SectionLowering.h"

using namespace mlir;
using namespace ingot;

LogicalResult SectionLowering::lowerRoute(lm::RouteOp op) {
  auto type = kernel::RoutesType::get(op.getContext(), op.routesType().getExperts(),
                                      op.routesType().getUsed());
  bind(op.getRoutes(), program.addBuffer("routes", type.bytesPerToken(), kernel::Extent::Tokens,
                                         /*persistent=*/false));
  SmallVector<LaunchOperand> operands{operand(op.getLogits())};
  for (Value vector : {op.getBias(), op.getExpertScale()})
    if (vector)
      operands.push_back(operand(vector));
  operands.push_back(operand(op.getRoutes()));
  launch("route", operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    kernel::RouteOp::create(b, args[0], op.getBias() ? args[1] : Value(),
                            op.getExpertScale() ? args.drop_back().back() : Value(), args.back(),
                            op.getScoreAttr(), op.getNormalizeAttr(), op.getGroupsAttr(),
                            op.getUsedGroupsAttr(), op.getGroupScoreAttr(), op.getNormEpsAttr(),
                            op.getNormFloorAttr(), op.getScaleAttr());
  });
  launch("group_routes", operand(op.getRoutes()), [&](ImplicitLocOpBuilder &b, ValueRange args) {
    kernel::GroupRoutesOp::create(b, args[0]);
  });
  return success();
}

LogicalResult SectionLowering::lowerCombine(lm::CombineOp op) {
  launch("combine",
         {operand(op.getX()), operand(op.getRoutes()), output("combined", op.getResult())},
         [&](ImplicitLocOpBuilder &b, ValueRange args) {
           kernel::CombineOp::create(b, args[0], args[1], args[2]);
         });
  return success();
}
