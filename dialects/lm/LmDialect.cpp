//===- LmDialect.cpp - Attributes and types of the lm dialect -------------===//
#include "dialects/lm/LmDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#include "dialects/lm/LmDialect.cpp.inc"
#include "dialects/lm/LmEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/lm/LmAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/lm/LmTypes.cpp.inc"

void LmDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/lm/LmAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/lm/LmTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/lm/LmOps.cpp.inc"
      >();
}

static StringRef nameOf(WeightFormat id) { return StringRef(numericFormat(id).name); }

static FailureOr<WeightFormat> parseFormat(AsmParser &parser) {
  StringRef name;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (auto id = weightFormatNamed(std::string_view(name.data(), name.size())))
    return *id;
  return parser.emitError(at, "unknown numeric format '") << name << "'";
}

Attribute FormatAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  auto id = parseFormat(parser);
  if (failed(id) || parser.parseGreater())
    return {};
  return get(parser.getContext(), *id);
}
void FormatAttr::print(AsmPrinter &printer) const { printer << "<" << nameOf(getId()) << ">"; }

Type WeightType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/false) ||
      parser.parseComma())
    return {};
  auto id = parseFormat(parser);
  if (failed(id) || parser.parseGreater())
    return {};
  if (shape.empty() || shape.size() > 2) {
    parser.emitError(at, "expects a weight of one or two dimensions");
    return {};
  }
  return get(parser.getContext(), shape, *id);
}
void WeightType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << ", " << nameOf(getFormat()) << ">";
}
