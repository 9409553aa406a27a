//===- Fused.cpp - Ops that one launch will compute -----------------------===//
#include "dialects/lm/ops/Fused.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Fused.cpp.inc"

LogicalResult FusedOp::verify() {
  if (getBody().front().getTerminator()->getOperandTypes() !=
      TypeRange(getResultTypes())) // fused_c1
    return emitOpError("expects its region to yield the types of its results");
  return success();
}

BlockArgument lm::stateArgumentOf(Value state) {
  while (auto result = dyn_cast<OpResult>(state)) {
    Operation *op = result.getOwner();
    if (auto fused = dyn_cast<FusedOp>(op))
      state = fused.getBody().front().getTerminator()->getOperand(result.getResultNumber());
    else
      state = *llvm::find_if(op->getOperands(),
                             [](Value operand) { return isa<StateType>(operand.getType()); });
  }
  return cast<BlockArgument>(state);
}
