//===- Weights.cpp - See Weights.h ----------------------------------------===//
#include "dialects/lm/ops/Weights.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Weights.cpp.inc"

LogicalResult WeightOp::verify() {
  WeightType type = getType();
  if (getValues() && (!type.isVector() || type.getFormat() != WeightFormat::F32 ||
                      int64_t(getValues()->size()) != type.rows())) // weight_c1
    return emitOpError("expects values to fill an f32 vector of ") << type.rows() << " values";
  if (!getValues() && !getSource()) // weight_c2
    return emitOpError("expects a source tensor or values");
  if (type.isVector() && !type.numeric().isFloat()) // weight_c3
    return emitOpError("expects a vector to be of a float format, got ") << type;
  if (getSource() && isa<RowsAttr>(*getSource())) {
    int64_t rows = 0;
    for (const TensorRows &part : rowsOf(*getSource())) {
      if (part.order.loops.empty())
        return success(); // the checkpoint determines how many rows there are
      rows += part.order.count(0);
    }
    if (rows != type.matrices() * type.rows()) // weight_c4
      return emitOpError("expects ")
             << type.matrices() * type.rows() << " rows, its source has " << rows;
  }
  return success();
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight = symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight || weight.getType() != getType()) // get_weight_c1
    return emitOpError("expects ") << getWeightAttr() << " to be a weight of type " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Origins of a weight
//===----------------------------------------------------------------------===//

/// The attribute that lists, for each origin: symbol, first row, number of rows, total rows of that symbol's
/// weight, and the factors, if any.
static constexpr StringLiteral kRowsOf = "lm.rows_of";

static std::optional<Factors> factorsNamed(StringRef name, DictionaryAttr dictionary) {
  auto list = dictionary.getAs<ArrayAttr>(name);
  if (!list)
    return std::nullopt;
  return Factors{cast<StringAttr>(list[0]).str(),
                 cast<FloatAttr>(list[1]).getValue().convertToFloat(),
                 cast<IntegerAttr>(list[2]).getInt()};
}

std::vector<WeightRows> lm::originsOf(WeightOp weight) {
  auto known = weight->getAttrOfType<ArrayAttr>(kRowsOf);
  const int64_t rows = weight.getType().matrices() * weight.getType().rows();
  if (!known)
    return {{weight.getSymName().str(), 0, rows, rows}};
  std::vector<WeightRows> origins;
  for (auto origin : known.getAsRange<ArrayAttr>()) {
    auto number = [&](int i) { return cast<IntegerAttr>(origin[i]).getInt(); };
    WeightRows &one = origins.emplace_back(
        WeightRows{cast<StringAttr>(origin[0]).str(), number(1), number(2), number(3)});
    if (origin.size() == 4)
      continue;
    auto factors = cast<DictionaryAttr>(origin[4]);
    one.columnFactors = factorsNamed("columns", factors);
    one.rowFactors = factorsNamed("rows", factors);
  }
  return origins;
}

void lm::setOrigins(WeightOp weight, ArrayRef<WeightRows> origins) {
  Builder b(weight.getContext());
  SmallVector<Attribute> all;
  for (const WeightRows &one : origins) {
    SmallVector<Attribute> list{b.getStringAttr(one.symbol), b.getI64IntegerAttr(one.first),
                                b.getI64IntegerAttr(one.count), b.getI64IntegerAttr(one.total)};
    SmallVector<NamedAttribute> factors;
    auto add = [&](StringRef name, const std::optional<Factors> &by) {
      if (by)
        factors.push_back(b.getNamedAttr(
            name, b.getArrayAttr({b.getStringAttr(by->vector), b.getF32FloatAttr(by->offset),
                                  b.getI64IntegerAttr(by->first)})));
    };
    add("columns", one.columnFactors);
    add("rows", one.rowFactors);
    if (!factors.empty())
      list.push_back(b.getDictionaryAttr(factors));
    all.push_back(b.getArrayAttr(list));
  }
  weight->setAttr(kRowsOf, b.getArrayAttr(all));
}
