//===- Model.cpp - See Model.h --------------------------------------------===//
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Layers.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Model.cpp.inc"

LogicalResult ModelOp::verify() {
  int entries = llvm::count_if(getBody().front(), [](Operation &op) { return isa<EntryOp>(op); });
  if (entries > 1) // model_c1
    return emitOpError("expects at most one lm.entry, got ") << entries;
  return success();
}
