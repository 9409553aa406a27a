//===- PlanDialect.cpp - Attributes of the plan dialect -------------------===//
#include "dialects/plan/PlanOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.cpp.inc"

/// Parses a keyword of one of the dialect's enumerations.
template <typename Enum> static FailureOr<Enum> parseWord(AsmParser &parser) {
  return FieldParser<Enum>::parse(parser);
}

Attribute ModesAttr::parse(AsmParser &parser, Type) {
  SmallVector<Mode> modes;
  auto one = [&]() -> ParseResult {
    FailureOr<Mode> mode = parseWord<Mode>(parser);
    if (failed(mode))
      return failure();
    modes.push_back(*mode);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return {};
  return get(parser.getContext(), modes);
}
void ModesAttr::print(AsmPrinter &printer) const {
  printer << '[';
  llvm::interleaveComma(getModes(), printer, [&](Mode mode) { printer << stringifyMode(mode); });
  printer << ']';
}

Attribute WhenAttr::parse(AsmParser &parser, Type) {
  SmallVector<Condition> conditions;
  auto one = [&]() -> ParseResult {
    FailureOr<Quantity> quantity = parseWord<Quantity>(parser);
    if (failed(quantity))
      return failure();
    uint64_t value = 0;
    if (*quantity != Quantity::Mode) {
      if (failed(parser.parseOptionalKeyword("at_most")) &&
          (parser.parseLess() || parser.parseEqual()))
        return failure();
      if (parser.parseInteger(value))
        return failure();
    } else {
      FailureOr<Mode> mode;
      if (parser.parseEqual() || failed(mode = parseWord<Mode>(parser)))
        return failure();
      value = static_cast<uint64_t>(*mode);
    }
    conditions.push_back({*quantity, value});
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return {};
  return parser.getChecked<WhenAttr>(parser.getContext(), conditions);
}
void WhenAttr::print(AsmPrinter &printer) const { // brackets in an attribute must be balanced, so
                                                  // there is no `<=`
  printWhen(printer, *this, " at_most ");
}
void plan::printWhen(AsmPrinter &printer, WhenAttr when, StringRef atMost) {
  printer << '[';
  llvm::interleaveComma(when.getConditions(), printer, [&](const Condition &condition) {
    printer << stringifyQuantity(condition.quantity);
    if (condition.quantity == Quantity::Mode)
      printer << " = " << stringifyMode(static_cast<Mode>(condition.value));
    else
      printer << atMost << condition.value;
  });
  printer << ']';
}
LogicalResult WhenAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<Condition> conditions) {
  if (conditions.empty()) // when_c1
    return emitError() << "expects at least one condition";
  for (const Condition &condition : conditions)
    if (condition.quantity != Quantity::Mode && condition.value == 0) // when_c2
      return emitError() << "expects a bound of at least 1 for "
                         << stringifyQuantity(condition.quantity);
  return success();
}
bool Condition::holds(const StepCounts &counts) const {
  switch (quantity) {
  case Quantity::Mode:
    return value == static_cast<uint32_t>(counts.mode);
  case Quantity::Tokens:
    return uint64_t(counts.tokens) <= value;
  case Quantity::Rows:
    return uint64_t(counts.rows) <= value;
  case Quantity::TileTokens:
    return uint64_t(counts.tileTokens) <= value;
  }
  llvm_unreachable("all quantities are covered");
}
bool WhenAttr::holds(const StepCounts &counts) const {
  return llvm::all_of(getConditions(),
                      [&](const Condition &condition) { return condition.holds(counts); });
}

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/ops/Program.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/plan/ops/Section.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/plan/ops/Entry.cpp.inc"
      >();
}
