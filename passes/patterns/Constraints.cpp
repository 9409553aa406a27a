//===- Constraints.cpp - Constraints on values, ops and attributes --------===//
//
// PDL chooses the order in which it evaluates constraints, so a constraint may see a value that another one would
// have ruled out. Each constraint therefore accepts any input, and fails if it does not apply.
//===----------------------------------------------------------------------===//
#include "dialects/lm/ops/Elementwise.h"
#include "dialects/lm/ops/Fused.h"
#include "passes/patterns/Natives.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;
using patterns::constraint;
using patterns::Native;
using patterns::rewrite;

/// Accepts a value, or the results of an op that may have several, such as lm.fused; of those there must be exactly
/// one.
static LogicalResult hasOneUse(PatternRewriter &, PDLResultList &, ArrayRef<PDLValue> asked) {
  if (!asked[0])
    return failure();
  auto value = asked[0].dyn_cast<Value>();
  if (auto range = asked[0].dyn_cast<ValueRange>(); range && range->size() == 1)
    value = range->front();
  return success(value && value.hasOneUse());
}

static LogicalResult isNorm(PatternRewriter &, Operation *op) { return success(isRowNorm(op)); }
static LogicalResult isElementwiseOp(PatternRewriter &, Operation *op) {
  return success(isElementwise(op));
}
static LogicalResult sameBlock(PatternRewriter &, Operation *a, Operation *b) {
  return success(a->getBlock() == b->getBlock());
}
/// Is never called: the driver removes the calls and makes a pattern for each order (addExchanged).
static LogicalResult eitherOrder(PatternRewriter &, Operation *) { return success(); }
static LogicalResult inRegion(PatternRewriter &, Operation *op) {
  return success(isa_and_present<FusedOp>(op->getParentOp()));
}

//===----------------------------------------------------------------------===//
// Shapes and formats
//===----------------------------------------------------------------------===//

/// Values of a row, or columns of a weight; -1 if the value has neither.
static int64_t widthOfAny(Value value) {
  if (!value)
    return -1;
  if (auto weight = dyn_cast<WeightType>(value.getType()))
    return weight.columns();
  auto rows = dyn_cast<RankedTensorType>(value.getType());
  return rows && rows.getRank() ? rows.getShape().back() : -1;
}

static std::optional<int64_t> number(Attribute attribute) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attribute);
  return integer ? std::optional(integer.getInt()) : std::nullopt;
}

static LogicalResult sameType(PatternRewriter &, Value a, Value b) {
  return success(a && b && a.getType() == b.getType());
}
static LogicalResult sameWidth(PatternRewriter &, Value a, Value b) {
  return success(widthOfAny(a) > 0 && widthOfAny(a) == widthOfAny(b));
}
static LogicalResult sameNumber(PatternRewriter &, ValueRange a, ValueRange b) {
  return success(a.size() == b.size());
}
static LogicalResult hasWidth(PatternRewriter &, Value value, Attribute width) {
  return success(number(width) && widthOfAny(value) == *number(width));
}
static LogicalResult widthIsMultipleOf(PatternRewriter &, Value value, Attribute of) {
  std::optional<int64_t> divisor = number(of);
  return success(divisor && *divisor > 0 && widthOfAny(value) > 0 &&
                 widthOfAny(value) % *divisor == 0);
}
static LogicalResult hasRows(PatternRewriter &, Value value, Attribute rows) {
  auto weight = value ? dyn_cast<WeightType>(value.getType()) : WeightType();
  return success(weight && number(rows) && weight.rows() == *number(rows));
}
static LogicalResult hasFormat(PatternRewriter &, Value value, Attribute name) {
  auto weight = value ? dyn_cast<WeightType>(value.getType()) : WeightType();
  auto text = dyn_cast_or_null<StringAttr>(name);
  return success(weight && text && text.getValue() == StringRef(weight.numeric().name));
}
static LogicalResult sameFormat(PatternRewriter &, Value a, Value b) {
  auto one = a ? dyn_cast<WeightType>(a.getType()) : WeightType();
  auto two = b ? dyn_cast<WeightType>(b.getType()) : WeightType();
  return success(one && two && one.getFormat() == two.getFormat());
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static LogicalResult equal(PatternRewriter &, Attribute a, Attribute b) {
  return success(a && a == b);
}

/// Combines two floats or two integers of one type; otherwise null, which the verifier of the new op rejects.
template <typename OfFloats, typename OfIntegers>
static Attribute combine(Attribute a, Attribute b, OfFloats ofFloats, OfIntegers ofIntegers) {
  if (auto x = dyn_cast_or_null<FloatAttr>(a), y = dyn_cast_or_null<FloatAttr>(b);
      x && y && x.getType() == y.getType()) {
    llvm::APFloat value = x.getValue();
    ofFloats(value, y.getValue());
    return FloatAttr::get(x.getType(), value);
  }
  if (auto x = dyn_cast_or_null<IntegerAttr>(a), y = dyn_cast_or_null<IntegerAttr>(b);
      x && y && x.getType() == y.getType())
    return IntegerAttr::get(x.getType(), ofIntegers(x.getValue(), y.getValue()));
  return {};
}

static Attribute sum(PatternRewriter &, Attribute a, Attribute b) {
  return combine(
      a, b,
      [](llvm::APFloat &x, const llvm::APFloat &y) {
        x.add(y, llvm::APFloat::rmNearestTiesToEven);
      },
      [](const llvm::APInt &x, const llvm::APInt &y) { return x + y; });
}
static Attribute product(PatternRewriter &, Attribute a, Attribute b) {
  return combine(
      a, b,
      [](llvm::APFloat &x, const llvm::APFloat &y) {
        x.multiply(y, llvm::APFloat::rmNearestTiesToEven);
      },
      [](const llvm::APInt &x, const llvm::APInt &y) { return x * y; });
}

static constexpr Native kConstraints[] = {
    constraint<hasOneUse>("HasOneUse(value)"),
    constraint<hasOneUse>("HasOneUse(range<value>)"),
    constraint<isNorm>("IsNorm(operation)"),
    constraint<isElementwiseOp>("IsElementwise(operation)"),
    constraint<sameBlock>("SameBlock(operation, operation)"),
    constraint<eitherOrder>("EitherOrder(operation)"),
    constraint<inRegion>("InRegion(operation)"),
    constraint<sameType>("SameType(value, value)"),
    constraint<sameWidth>("SameWidth(value, value)"),
    constraint<sameNumber>("SameNumber(range<value>, range<value>)"),
    constraint<hasWidth>("HasWidth(value, attribute)"),
    constraint<widthIsMultipleOf>("WidthIsMultipleOf(value, attribute)"),
    constraint<hasRows>("HasRows(value, attribute)"),
    constraint<hasFormat>("HasFormat(value, attribute)"),
    constraint<sameFormat>("SameFormat(value, value)"),
    constraint<equal>("Equal(attribute, attribute)"),
    rewrite<sum>("Sum(attribute, attribute) -> attribute"),
    rewrite<product>("Product(attribute, attribute) -> attribute"),
};

ArrayRef<Native> patterns::constraints() { return kConstraints; }
