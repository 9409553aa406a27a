//===- Rows.cpp - Which rows: of the embedding, of a step -----------------===//
#include "dialects/lm/ops/Rows.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Rows.cpp.inc"

static LogicalResult expectRowsOf(Operation *op, WeightType table, Value rows) {
  if (table.isVector() || widthOf(rows) != table.columns())
    return op->emitOpError("expects rows of ") << table.columns() << " values from " << table;
  return success();
}

LogicalResult EmbedOp::verify() { // embed_c1
  return expectRowsOf(*this, getWeight().getType(), getResult());
}
LogicalResult EmbedPositionsOp::verify() { // embed_positions_c1
  return expectRowsOf(*this, getTable().getType(), getResult());
}
LogicalResult PermuteOp::verify() { // permute_c1
  WeightType columns = getColumns().getType();
  if (!columns.isVector() || columns.rows() != widthOf(getX()))
    return emitOpError("expects a column for each of ")
           << widthOf(getX()) << " values, got " << columns;
  return success();
}
