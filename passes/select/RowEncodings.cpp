//===- RowEncodings.cpp - Encodings of rows between launches --------------===//
#include "passes/select/RowEncodings.h"
#include "dialects/lm/ops/Cast.h"
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Experts.h"
#include "dialects/lm/ops/Fused.h"
#include "dialects/lm/ops/Rows.h"

using namespace mlir;
using namespace ingot;
using kernel::Extent;
using kernel::RowKind;

RankedTensorType ingot::withEncoding(Type rows, RowKind encoding) {
  auto type = cast<RankedTensorType>(rows);
  return RankedTensorType::get(
      type.getShape(), type.getElementType(),
      StringAttr::get(type.getContext(), kernel::stringifyRowKind(encoding)));
}

RowCount ingot::rowCountOf(Value rows) {
  while (auto result = dyn_cast<OpResult>(rows)) {
    Operation *op = result.getOwner();
    if (isa<lm::SelectRowsOp>(op))
      return {Extent::Rows, 1};
    if (auto dispatch = dyn_cast<lm::DispatchOp>(op))
      return {Extent::Tokens, dispatch.getRoutes().getType().getUsed()};
    if (isa<lm::CombineOp>(op))
      break;
    if (auto fused = dyn_cast<lm::FusedOp>(op)) {
      rows = fused.getBody().front().getTerminator()->getOperand(result.getResultNumber());
      continue;
    }
    auto x = llvm::find_if(op->getOperands(),
                           [](Value operand) { return isa<RankedTensorType>(operand.getType()); });
    if (x == op->getOperands().end())
      break;
    rows = *x;
  }
  return {};
}

SmallVector<Operation *> ingot::opsOf(Operation *launch) {
  auto fused = dyn_cast<lm::FusedOp>(launch);
  if (!fused)
    return {launch};
  SmallVector<Operation *> ops;
  for (Operation &op : fused.getBody().front().without_terminator())
    if (!isa<lm::CastOp>(op))
      ops.push_back(&op);
  return ops;
}

StringRef ingot::launchName(Operation *launch) {
  if (auto fused = dyn_cast<lm::FusedOp>(launch))
    return fused.getPattern();
  return lm::isRowNorm(launch) ? "norm" : launch->getName().stripDialect();
}

Value ingot::beforeRounding(Value value) {
  auto conversion = value.getDefiningOp<lm::CastOp>();
  return conversion ? conversion.getX() : value;
}

Value ingot::inside(OpResult result) {
  auto fused = dyn_cast<lm::FusedOp>(result.getOwner());
  return fused ? beforeRounding(
                     fused.getBody().front().getTerminator()->getOperand(result.getResultNumber()))
               : Value(result);
}

bool ingot::choosesExperts(Operation *launch) {
  return llvm::any_of(launch->getUsers(), llvm::IsaPred<lm::RouteOp>);
}

bool ingot::isRowwise(Operation *op) {
  return lm::isRowNorm(op) || lm::isElementwise(op) ||
         isa<lm::SelectRowsOp, lm::DispatchOp, lm::ScaleRowsOp>(op);
}
