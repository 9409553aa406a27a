//===- Rows.cpp - Rows of activations -------------------------------------===//
#include "dialects/kernel/ops/Rows.h"
#include "dialects/kernel/ops/Region.h"
#include "runtime/abi/Routes.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Rows.cpp.inc"

LogicalResult Fp8RowsOp::verify() {
  if (getX().getType().getKind() != RowKind::BF16 ||
      getOutput().getType().getKind() != RowKind::FP8 ||
      getX().getType().getN() != getOutput().getType().getN()) // fp8_rows_c1
    return emitOpError("expects bf16 rows and fp8 rows of one width");
  const int64_t rows = getRowsOfToken();
  if (rows < 1 || (rows > 1 && getExtent() != Extent::Tokens)) // fp8_rows_c2
    return emitOpError("expects a row, or as many for each token as it has experts");
  return success();
}

/// Returns the expected number of columns: one per value, or an order for each expert.
static int64_t columnsAsked(RowwiseOp op) {
  return op.getRoutes() && op.ordersByExpert()
             ? op.getRoutes().getType().getExperts() * orderStride(op.width())
             : op.width();
}

LogicalResult RowwiseOp::verify() {
  if (bool(getFused()) != getOutputs().empty()) // rowwise_c5
    return emitOpError("expects outputs, or a fused value instead");
  int64_t n = width();
  for (Value v : getInputs())
    if (!isInputOf(n, v.getType()) &&
        !(isa<ActivationType>(v.getType()) && isInputOf(1, v.getType()))) // rowwise_c1
      return emitOpError("expects inputs to be f32 rows or vectors of ")
             << n << " values, or rows of one, got " << v.getType();
  for (Value v : getOutputs())
    if (cast<ActivationType>(v.getType()).getN() != n || // rowwise_c2
        cast<ActivationType>(v.getType()).getKind() >= RowKind::FP8)
      return emitOpError("expects outputs of one width");
  if (getGather() && getExtent() != Extent::Rows) // rowwise_c3
    return emitOpError("expects the extent of logits rows to gather");
  const int64_t rows = getRowsOfToken();
  if (rows < 1 || (rows > 1 && getExtent() != Extent::Tokens) ||
      (getRoutes() && getRoutes().getType().getUsed() != rows)) // rowwise_c6
    return emitOpError("expects as many rows for each token as it has experts");
  if (getDispatched() && !getRoutes()) // rowwise_c8
    return emitOpError("expects routes that its rows were dispatched to");
  if (lm::WeightType columns = getColumns() ? getColumns().getType() : lm::WeightType();
      columns && (!columns.isVector() || columns.rows() != columnsAsked(*this) || getFused() ||
                  llvm::any_of(getInputs(), [&](Value v) {
                    auto rows = dyn_cast<ActivationType>(v.getType());
                    return !rows || rows.getN() != n;
                  }))) // rowwise_c7
    return emitOpError("expects a column for each of ")
           << n << " values of outputs, and only rows of that width, got " << columns;
  return verifyRegion(*this, getBody(), getInputs().size(),
                      getFused() ? 1 : getOutputs().size()); // rowwise_c4
}

LogicalResult GatherOp::verify() {
  if (getWeight().getType().isVector() ||
      getOutput().getType().getN() != getWeight().getType().columns() ||
      getOutput().getType().getKind() != RowKind::F32) // gather_c1
    return emitOpError("expects f32 rows as wide as the weight's rows");
  return success();
}

WorkItems Fp8RowsOp::workItems() {
  WorkItems items = unitsOf(getExtent());
  items.factor = getRowsOfToken();
  return items;
}
int64_t Fp8RowsOp::rowsOfUnit(Value) { return getRowsOfToken(); }
bool Fp8RowsOp::isPerRow() { return getExtent() == Extent::Rows; }
WorkItems RowwiseOp::workItems() {
  WorkItems items = unitsOf(getExtent());
  items.factor = getRowsOfToken();
  return items;
}
bool RowwiseOp::isPerRow() { return getExtent() == Extent::Rows; }
int64_t RowwiseOp::rowsOfUnit(Value operand) {
  return dispatches() && llvm::is_contained(getInputs(), operand) ? 1 : getRowsOfToken();
}
/// Where rows are gathered or their columns permuted, a value may be read after another was written.
bool RowwiseOp::mayOverwrite(Value, Value input) {
  return !getGather() && !getRoutes() && !getColumns() && llvm::is_contained(getInputs(), input);
}
/// Counts each operation of the region once per element. Statistics and exp count as one operation, because
/// such kernels are bound by memory.
int64_t RowwiseOp::operationsPerUnit() {
  int64_t operations = 0;
  getBody().walk([&](Operation *inner) { operations += !isa<YieldOp>(inner); });
  return operations * width() * getRowsOfToken();
}
bool GatherOp::gathersWeights() { return true; }
int64_t GatherOp::operationsPerUnit() { return 2 * getOutput().getType().getN(); }

RowwiseOp kernel::copyRows(OpBuilder &b, Location location, Value from, ValueRange to,
                           Extent extent, int64_t rowsOfToken) {
  auto op = RowwiseOp::create(b, location, from, to, extent, /*gather=*/false);
  op.setRowsOfToken(rowsOfToken);
  OpBuilder::InsertionGuard guard(b);
  Value x = b.createBlock(&op.getBody(), {}, b.getF32Type(), location)->getArgument(0);
  YieldOp::create(b, location, SmallVector<Value>(to.size(), x));
  return op;
}
