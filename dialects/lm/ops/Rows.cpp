//===- Rows.cpp - Selection of rows: of the embedding, of a step ----------===//
#include "dialects/lm/ops/Rows.h"
#include "runtime/abi/Routes.h"

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
  const WeightType columns = getColumns().getType();
  const int64_t width = widthOf(getX());
  if (!getRoutes() && (!columns.isVector() || columns.rows() != width))
    return emitOpError("expects a column for each of ") << width << " values, got " << columns;
  if (!getRoutes())
    return success();
  const int64_t experts = getRoutes().getType().getExperts();
  if (!columns.isVector() || columns.rows() != experts * orderStride(width)) // permute_c2
    return emitOpError("expects ") << orderStride(width) << " columns for each of " << experts
                                   << " experts, got " << columns;
  return success();
}

// Inferred types: see LinearOp.

LogicalResult EmbedOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                        ValueRange operands, DictionaryAttr, OpaqueProperties,
                                        RegionRange, SmallVectorImpl<Type> &types) {
  auto table = operands.size() > 1 ? dyn_cast<WeightType>(operands[1].getType()) : WeightType();
  types.push_back(rowsType(context, table ? table.columns() : 0));
  return success();
}
LogicalResult EmbedPositionsOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                                 ValueRange operands, DictionaryAttr,
                                                 OpaqueProperties, RegionRange,
                                                 SmallVectorImpl<Type> &types) {
  auto table = operands.empty() ? WeightType() : dyn_cast<WeightType>(operands[0].getType());
  types.push_back(rowsType(context, table ? table.columns() : 0));
  return success();
}
LogicalResult SelectRowsOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                             ValueRange operands, DictionaryAttr, OpaqueProperties,
                                             RegionRange, SmallVectorImpl<Type> &types) {
  if (operands.empty())
    return failure();
  types.push_back(operands[0].getType());
  return success();
}
