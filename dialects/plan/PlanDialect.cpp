//===- PlanDialect.cpp - Attributes of the plan dialect -------------------===//
#include "dialects/plan/PlanOps.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.cpp.inc"

/// A word of one of the dialect's enumerations.
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
    if (failed(quantity) || parser.parseEqual())
      return failure();
    FailureOr<Mode> mode = parseWord<Mode>(parser);
    if (failed(mode))
      return failure();
    conditions.push_back({*quantity, static_cast<uint32_t>(*mode)});
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
    return {};
  return get(parser.getContext(), conditions);
}
void WhenAttr::print(AsmPrinter &printer) const {
  printer << '[';
  llvm::interleaveComma(getConditions(), printer, [&](const Condition &condition) {
    printer << stringifyQuantity(condition.quantity) << " = "
            << stringifyMode(static_cast<Mode>(condition.value));
  });
  printer << ']';
}
bool WhenAttr::holds(Mode mode) const {
  return llvm::all_of(getConditions(), [&](const Condition &condition) {
    return condition.value == static_cast<uint32_t>(mode);
  });
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
