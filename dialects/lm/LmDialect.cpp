//===- LmDialect.cpp - Attributes and types of the lm dialect -------------===//
#include "dialects/lm/LmOps.h"
#include "runtime/abi/Limits.h"
#include "runtime/formats/FixedState.h"

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
#include "dialects/lm/ops/Model.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Weights.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Layers.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Rows.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Cast.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Norm.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Linear.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Attention.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/CausalConv.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Experts.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Elementwise.cpp.inc"
      ,
#define GET_OP_LIST
#include "dialects/lm/ops/Fused.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// References to rows
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> flat(const RowOrder &order) {
  SmallVector<int64_t> numbers;
  for (RowOrder::Loop loop : order.loops)
    numbers.append({loop.count, loop.stride});
  return numbers;
}

static FactorsAttr attrOf(MLIRContext *context, const std::optional<Factors> &factors) {
  if (!factors)
    return {};
  return FactorsAttr::get(context, StringAttr::get(context, factors->vector),
                          FloatAttr::get(Float32Type::get(context), factors->offset),
                          factors->first);
}

static std::optional<Factors> factorsOf(FactorsAttr attr) {
  if (!attr)
    return std::nullopt;
  return Factors{attr.getVector().str(), attr.getOffset().getValue().convertToFloat(),
                 attr.getFirst()};
}

PartAttr PartAttr::get(MLIRContext *context, const TensorRows &rows) {
  return get(context, StringAttr::get(context, rows.tensor), rows.matrix, rows.transposed,
             rows.order.first, flat(rows.order), attrOf(context, rows.columnFactors),
             attrOf(context, rows.rowFactors));
}

TensorRows PartAttr::rows() const {
  TensorRows rows{getTensor().str(),
                  getMatrix(),
                  {getFirst(), {}},
                  getTransposed(),
                  factorsOf(getColumnFactors()),
                  factorsOf(getRowFactors())};
  for (size_t i = 0; i < getLoops().size(); i += 2)
    rows.order.loops.push_back({getLoops()[i], getLoops()[i + 1]});
  return rows;
}

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr tensor,
                               int64_t matrix, bool, int64_t first, ArrayRef<int64_t> loops,
                               FactorsAttr columnFactors, FactorsAttr) {
  if (tensor.empty() || matrix < -1 || first < 0) // rows_c1
    return emitError() << "expects the name of a tensor, and a matrix and a first row from 0 on";
  if (llvm::any_of(loops, [](int64_t n) { return n < 1; })) // rows_c2
    return emitError() << "expects loops of counts and strides from 1 on";
  if (columnFactors && columnFactors.getFirst() != 0) // rows_c4
    return emitError() << "expects factors of columns to begin with the first";
  return success();
}

LogicalResult RowsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<PartAttr> parts) {
  if (parts.empty() ||
      (parts.size() == 1 && parts.front().rows() == TensorRows{parts.front().getTensor().str()}))
    return emitError() << "expects rows that are not one whole tensor"; // rows_c3
  return success();
}

/// Parses the text after `columns` or `rows`: by "g.weight" plus 1.0 at 64.
static ParseResult parseFactors(AsmParser &parser, Factors &factors) {
  if (parser.parseKeyword("by") || parser.parseString(&factors.vector))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("plus"))) {
    double offset;
    if (parser.parseFloat(offset))
      return failure();
    factors.offset = static_cast<float>(offset);
  }
  return failure(succeeded(parser.parseOptionalKeyword("at")) &&
                 parser.parseInteger(factors.first));
}

/// Returns null after an error if there is no part.
static PartAttr parsePart(AsmParser &parser) {
  SMLoc at = parser.getCurrentLocation();
  TensorRows rows;
  if (parser.parseString(&rows.tensor) ||
      (succeeded(parser.parseOptionalKeyword("matrix")) && parser.parseInteger(rows.matrix)))
    return {};
  rows.transposed = succeeded(parser.parseOptionalKeyword("transposed"));
  if ((succeeded(parser.parseOptionalKeyword("from")) && parser.parseInteger(rows.order.first)))
    return {};
  auto parseLoop = [&] {
    RowOrder::Loop &loop = rows.order.loops.emplace_back();
    return failure(
        parser.parseInteger(loop.count) ||
        (succeeded(parser.parseOptionalKeyword("by")) && parser.parseInteger(loop.stride)));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalSquare, parseLoop))
    return {};
  if ((succeeded(parser.parseOptionalKeyword("columns")) &&
       parseFactors(parser, rows.columnFactors.emplace())) ||
      (succeeded(parser.parseOptionalKeyword("rows")) &&
       parseFactors(parser, rows.rowFactors.emplace())))
    return {};
  MLIRContext *context = parser.getContext();
  return PartAttr::getChecked(
      [&] { return parser.emitError(at); }, context, StringAttr::get(context, rows.tensor),
      rows.matrix, rows.transposed, rows.order.first, flat(rows.order),
      attrOf(context, rows.columnFactors), attrOf(context, rows.rowFactors));
}

Attribute RowsAttr::parse(AsmParser &parser, Type) {
  SMLoc at = parser.getCurrentLocation();
  SmallVector<PartAttr> parts;
  auto parseOne = [&] { return success(bool(parts.emplace_back(parsePart(parser)))); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseOne))
    return {};
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(), parts);
}

static void printFactors(AsmPrinter &printer, StringRef what, FactorsAttr factors) {
  if (!factors)
    return;
  printer << ' ' << what << " by " << factors.getVector();
  if (!factors.getOffset().getValue().isZero())
    printer << " plus " << factors.getOffset().getValue().convertToFloat();
  if (factors.getFirst())
    printer << " at " << factors.getFirst();
}

static void printOrder(AsmPrinter &printer, const RowOrder &order) {
  if (order.first)
    printer << " from " << order.first;
  if (order.loops.empty())
    return;
  printer << " [";
  llvm::interleaveComma(order.loops, printer, [&](RowOrder::Loop loop) {
    printer << loop.count;
    if (loop.stride != 1)
      printer << " by " << loop.stride;
  });
  printer << "]";
}

static void printPart(AsmPrinter &printer, PartAttr part) {
  TensorRows rows = part.rows();
  printer << part.getTensor();
  if (rows.matrix >= 0)
    printer << " matrix " << rows.matrix;
  if (rows.transposed)
    printer << " transposed";
  printOrder(printer, rows.order);
  printFactors(printer, "columns", part.getColumnFactors());
  printFactors(printer, "rows", part.getRowFactors());
}

void RowsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getParts(), printer, [&](PartAttr part) { printPart(printer, part); });
  printer << ">";
}

std::vector<TensorRows> lm::rowsOf(Attribute source) {
  if (auto name = dyn_cast<StringAttr>(source))
    return {{name.str()}};
  std::vector<TensorRows> parts;
  for (PartAttr part : cast<RowsAttr>(source).getParts())
    parts.push_back(part.rows());
  return parts;
}

Attribute lm::sourceOf(MLIRContext *context, ArrayRef<TensorRows> parts) {
  if (parts.size() == 1 && parts.front() == TensorRows{parts.front().tensor})
    return StringAttr::get(context, parts.front().tensor);
  SmallVector<PartAttr> list;
  for (const TensorRows &rows : parts)
    list.push_back(PartAttr::get(context, rows));
  return RowsAttr::get(context, list);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

LogicalResult StreamAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                 int64_t rows, int64_t width) {
  if (name.empty() || rows < 1 || width < 1) // stream_c1
    return emitError() << "expects a stream to have a name and rows of values";
  return success();
}

static LogicalResult verifyStreams(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<StreamAttr> streams) {
  llvm::SmallDenseSet<StringAttr, 4> names;
  for (StreamAttr stream : streams)
    names.insert(stream.getName());
  if (streams.empty() || names.size() != streams.size()) // layout_c1
    return emitError() << "expects a state of one or more streams with unique names";
  return success();
}
LogicalResult PagedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StreamAttr> streams) {
  return verifyStreams(emitError, streams);
}
LogicalResult FixedAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StreamAttr> streams) {
  return verifyStreams(emitError, streams);
}
LogicalResult StateType::verify(function_ref<InFlightDiagnostic()> emitError, Attribute layout) {
  if (!isa<PagedAttr, FixedAttr>(layout)) // layout_c2
    return emitError() << "expects a paged or a fixed layout, got " << layout;
  return success();
}

int64_t FixedAttr::offsetOf(size_t stream) const {
  int64_t bytes = 0;
  for (StreamAttr before : getStreams().take_front(stream))
    bytes += fixedStreamBytes(before.getRows(), before.getWidth());
  return bytes;
}
int64_t FixedAttr::slotBytes() const { return offsetOf(getStreams().size()); }

/// Parses `name: 2x1024`, followed by ` x f32` in a fixed state. Returns null after an error.
static StreamAttr parseStream(AsmParser &parser, bool fixed) {
  std::string name;
  SmallVector<int64_t> shape;
  SMLoc at = parser.getCurrentLocation();
  Type element;
  if (parser.parseKeywordOrString(&name) || parser.parseColon() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/fixed) ||
      (fixed && parser.parseType(element)))
    return {};
  if (shape.size() != 2 || (fixed && !element.isF32())) {
    parser.emitError(at) << "expects rows x width" << (fixed ? " x f32" : "");
    return {};
  }
  MLIRContext *context = parser.getContext();
  return StreamAttr::getChecked([&] { return parser.emitError(at); }, context,
                                StringAttr::get(context, name), shape[0], shape[1]);
}

template <typename Layout> static Attribute parseLayout(AsmParser &parser, bool fixed) {
  SMLoc at = parser.getCurrentLocation();
  SmallVector<StreamAttr> streams;
  auto one = [&] { return success(bool(streams.emplace_back(parseStream(parser, fixed)))); };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, one) ||
      parser.parseGreater())
    return {};
  return Layout::getChecked([&] { return parser.emitError(at); }, parser.getContext(), streams);
}
static void printStreams(AsmPrinter &printer, ArrayRef<StreamAttr> streams, StringRef element) {
  printer << "<[";
  llvm::interleaveComma(streams, printer, [&](StreamAttr stream) {
    printer.printKeywordOrString(stream.getName());
    printer << ": " << stream.getRows() << 'x' << stream.getWidth() << element;
  });
  printer << "]>";
}
Attribute PagedAttr::parse(AsmParser &parser, Type) {
  return parseLayout<PagedAttr>(parser, /*fixed=*/false);
}
void PagedAttr::print(AsmPrinter &printer) const { printStreams(printer, getStreams(), ""); }
Attribute FixedAttr::parse(AsmParser &parser, Type) {
  return parseLayout<FixedAttr>(parser, /*fixed=*/true);
}
void FixedAttr::print(AsmPrinter &printer) const { printStreams(printer, getStreams(), " x f32"); }

//===----------------------------------------------------------------------===//
// Formats and weights
//===----------------------------------------------------------------------===//

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
  FailureOr<WeightLayout> layout = WeightLayout::Open;
  if (failed(id) ||
      (succeeded(parser.parseOptionalComma()) &&
       failed(layout = FieldParser<WeightLayout>::parse(parser))) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(), shape, *id, *layout);
}
void WeightType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << ", " << nameOf(getFormat());
  if (getLayout() != WeightLayout::Open)
    printer << ", " << stringifyWeightLayout(getLayout());
  printer << ">";
}
LogicalResult WeightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, WeightFormat, WeightLayout layout) {
  if (shape.empty() || shape.size() > 3)
    return emitError() << "expects a weight of one to three dimensions";
  if (shape.size() == 1 && layout != WeightLayout::Open) // weight_type_c1
    return emitError() << "expects a vector to have no layout, got "
                       << stringifyWeightLayout(layout);
  return success();
}

LogicalResult RoutesType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t experts,
                                 int64_t used) {
  if (used < 1 || used > experts || experts > kMostExperts) // routes_type_c1
    return emitError() << "expects some of at most " << kMostExperts << " experts to be used, got "
                       << used << " of " << experts;
  return success();
}

//===----------------------------------------------------------------------===//
// Checks for verifiers
//===----------------------------------------------------------------------===//

LogicalResult lm::expectRows(Operation *op, Value value, StringRef what) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 2 || !type.isDynamicDim(0) || type.isDynamicDim(1))
    return op->emitOpError("expects ") << what << " of shape ?xn, got " << type;
  return success();
}

LogicalResult lm::expectVector(Operation *op, WeightType weight, int64_t n, StringRef what) {
  if (!weight.isVector() || weight.rows() != n || !weight.numeric().isFloat())
    return op->emitOpError("expects ")
           << what << " to be a float vector of " << n << " values, got " << weight;
  return success();
}
