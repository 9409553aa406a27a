//===- Fused.cpp - Consumers of fused values ------------------------------===//
#include "dialects/kernel/ops/Fused.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Fused.cpp.inc"

LogicalResult StoreOp::verify() {
  if (activationTypeOf(getValues()) != getOutput().getType() ||
      getOutput().getType().getKind() != RowKind::F32) // store_c1
    return emitOpError("expects f32 rows of the values that it stores");
  return success();
}

LogicalResult PanelMaximaOp::verify() {
  if (activationTypeOf(getValues()).getKind() != RowKind::F32 ||
      getOutput().getType().getKind() != RowKind::F32 ||
      getOutput().getType().getN() !=
          (getValues().getType().getN() + kPanelRows - 1) / kPanelRows) // panel_maxima_c1
    return emitOpError("expects an f32 maximum for each ") << kPanelRows << " f32 values";
  return success();
}
