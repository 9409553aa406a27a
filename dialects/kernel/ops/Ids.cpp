//===- Ids.cpp - Ids of logits rows, on GPUs ------------------------------===//
#include "dialects/kernel/ops/Ids.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Ids.cpp.inc"

/// Checks logits and the values found in them; any of the last three may be null.
static LogicalResult verifyIds(Operation *op, Value logits, Value keys, Value sums, Value ids) {
  auto isRows = [](Value value, RowKind kind, bool one) {
    if (!value)
      return true;
    ActivationType type = activationTypeOf(value);
    return type.getKind() == kind && (!one || type.getN() == 1);
  };
  if (!isRows(logits, RowKind::F32, false) || !isRows(keys, RowKind::Key, true)) // ids_c1
    return op->emitOpError("expects f32 logits and a key of each row");
  if (!isRows(sums, RowKind::Bytes, false) || !isRows(ids, RowKind::I32, true)) // ids_c2
    return op->emitOpError("expects sums of bytes and an i32 id of each row");
  return success();
}

LogicalResult ArgmaxOp::verify() { return verifyIds(*this, getLogits(), getKeys(), {}, {}); }
LogicalResult ArgmaxFinishOp::verify() { return verifyIds(*this, {}, getKeys(), {}, getIds()); }
LogicalResult DrawWeighOp::verify() {
  return verifyIds(*this, getLogits(), getKeys(), getSums(), {});
}
LogicalResult DrawIdsOp::verify() {
  return verifyIds(*this, getLogits(), getKeys(), getSums(), getIds());
}

static constexpr StringLiteral kSample = "sample";

StringRef ArgmaxOp::family() { return kSample; }
WorkItems ArgmaxOp::workItems() { return unitsOf(Extent::Rows); }
bool ArgmaxOp::isPerRow() { return true; }
StringRef ArgmaxFinishOp::family() { return kSample; }
WorkItems ArgmaxFinishOp::workItems() { return unitsOf(Extent::Rows); }
bool ArgmaxFinishOp::isPerRow() { return true; }
StringRef DrawWeighOp::family() { return kSample; }
WorkItems DrawWeighOp::workItems() { return unitsOf(Extent::Rows); }
bool DrawWeighOp::isPerRow() { return true; }
StringRef DrawIdsOp::family() { return kSample; }
WorkItems DrawIdsOp::workItems() { return unitsOf(Extent::Rows); }
bool DrawIdsOp::isPerRow() { return true; }
