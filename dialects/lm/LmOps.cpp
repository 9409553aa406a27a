//===- LmOps.cpp - Verifiers and folds of the lm dialect ------------------===//
//
// Each check cites the constraint of SPEC.md that it enforces, e.g. (linear_c1).
//===----------------------------------------------------------------------===//
#include "dialects/lm/LmDialect.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/LmOps.cpp.inc"

/// Activations are [?][n], f32.
static LogicalResult expectRows(Operation *op, Value value, StringRef what) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 2 || !type.isDynamicDim(0) || type.isDynamicDim(1))
    return op->emitOpError("expects ") << what << " of shape ?xn, got " << type;
  return success();
}

static LogicalResult expectVector(Operation *op, WeightType weight, int64_t n, StringRef what) {
  if (!weight.isVector() || weight.rows() != n || !weight.numeric().isFloat())
    return op->emitOpError("expects ")
           << what << " to be a float vector of " << n << " values, got " << weight;
  return success();
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult ModelOp::verify() {
  int entries = llvm::count_if(getBody().front(), [](Operation &op) { return isa<EntryOp>(op); });
  if (entries != 1) // model_c1
    return emitOpError("expects one lm.entry, got ") << entries;
  return success();
}

LogicalResult WeightOp::verify() {
  WeightType type = getType();
  if (getValues() && (!type.isVector() || type.getFormat() != WeightFormat::F32 ||
                      int64_t(getValues()->size()) != type.rows())) // weight_c1
    return emitOpError("expects values to fill a f32 vector of ") << type.rows() << " values";
  if (!getValues() && !getSource()) // weight_c2
    return emitOpError("expects a source tensor or values");
  if (type.isVector() && !type.numeric().isFloat()) // weight_c3
    return emitOpError("expects a vector to be of a float format, got ") << type;
  if (getSource() && isa<RowsAttr>(*getSource())) {
    int64_t rows = 0;
    for (const TensorRows &part : rowsOf(*getSource())) {
      if (part.order.loops.empty())
        return success(); // how many there are, the checkpoint says
      rows += part.order.count(0);
    }
    if (rows != type.rows()) // weight_c4
      return emitOpError("expects ") << type.rows() << " rows, its source has " << rows;
  }
  return success();
}

template <typename Op>
static ParseResult parseFunctionLike(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> args, ArrayRef<Type> results,
                  function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, Op::getFunctionTypeAttrName(result.name), build,
      Op::getArgAttrsAttrName(result.name), Op::getResAttrsAttrName(result.name));
}
template <typename Op> static void printFunctionLike(Op op, OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(p, op, /*isVariadic=*/false,
                                           op.getFunctionTypeAttrName(), op.getArgAttrsAttrName(),
                                           op.getResAttrsAttrName());
}
template <typename Op>
static void buildFunctionLike(OpBuilder &b, OperationState &state, StringRef name,
                              FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), b.getStringAttr(name));
  state.addAttribute(Op::getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult LayerKindOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<LayerKindOp>(parser, result);
}
void LayerKindOp::print(OpAsmPrinter &p) { printFunctionLike(*this, p); }
void LayerKindOp::build(OpBuilder &b, OperationState &state, StringRef name, FunctionType type) {
  buildFunctionLike<LayerKindOp>(b, state, name, type);
}
ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<EntryOp>(parser, result);
}
void EntryOp::print(OpAsmPrinter &p) { printFunctionLike(*this, p); }
void EntryOp::build(OpBuilder &b, OperationState &state, StringRef name, FunctionType type) {
  buildFunctionLike<EntryOp>(b, state, name, type);
}

unsigned LayerKindOp::stateCount() {
  auto behind = getArgumentTypes().drop_front();
  return llvm::find_if_not(behind, llvm::IsaPred<StateType>) - behind.begin();
}

LogicalResult LayerKindOp::verify() {
  FunctionType type = getFunctionType();
  auto in = type.getInputs();
  if (in.empty() || !isa<RankedTensorType>(in[0]) || in.size() < firstWeight() ||
      !isa<BatchType>(in[firstWeight() - 1])) // layer_kind_c1
    return emitOpError("expects arguments (tensor<?xHxf32>, states…, !lm.batch, weights…)");
  for (unsigned i = firstWeight(); i < in.size(); ++i) {
    if (!isa<WeightType>(in[i])) // layer_kind_c2
      return emitOpError("expects argument #") << i << " to be a weight, got " << in[i];
    if (!getArgAttrOfType<StringAttr>(i, kRoleAttr)) // layer_kind_c3
      return emitOpError("expects argument #") << i << " to carry its role (" << kRoleAttr << ")";
  }
  if (type.getResults() != in.take_front(1 + stateCount())) // layer_kind_c4
    return emitOpError("expects results (")
           << in.take_front(1 + stateCount()) << "), the types of x and of its states";
  return success();
}

LogicalResult EntryOp::verify() {
  FunctionType type = getFunctionType();
  auto in = type.getInputs();
  if (in.size() != 3 || !isa<RankedTensorType>(in[0]) || !isa<StatesType>(in[1]) ||
      !isa<BatchType>(in[2])) // entry_c1
    return emitOpError("expects arguments (tensor<?xi32>, !lm.states, !lm.batch)");
  if (type.getNumResults() != 2 || !isa<RankedTensorType>(type.getResult(0)) ||
      !isa<StatesType>(type.getResult(1))) // entry_c2
    return emitOpError("expects results (tensor<?xVxf32>, !lm.states)");
  return success();
}

LogicalResult ReturnOp::verify() {
  auto fn = cast<FunctionOpInterface>((*this)->getParentOp());
  if (getOperandTypes() != TypeRange(fn.getResultTypes())) // return_c1
    return emitOpError("expects operands of the types that @") << fn.getName() << " returns";
  return success();
}

LogicalResult LayersOp::verify() {
  size_t n = getKinds().size();
  if (getWeights().size() != n || getStates().size() != n) // layers_c1
    return emitOpError("expects a kind, a list of states and one of weights for each layer, got ")
           << n << ", " << getStates().size() << " and " << getWeights().size();
  for (ArrayAttr lists : {getWeights(), getStates()})
    for (Attribute list : lists)
      if (!isa<ArrayAttr>(list) ||
          !llvm::all_of(cast<ArrayAttr>(list), llvm::IsaPred<FlatSymbolRefAttr>)) // layers_c2
        return emitOpError("expects lists of weight and state symbols");
  llvm::SmallDenseSet<Attribute> owned;
  for (Attribute list : getStates())
    for (Attribute state : cast<ArrayAttr>(list))
      if (!owned.insert(state).second) // layers_c7
        return emitOpError("passes ") << state << " twice: a state is of one layer";
  return success();
}

LogicalResult LayersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto [layer, kind, list, states] :
       llvm::enumerate(getKinds().getAsRange<FlatSymbolRefAttr>(), getWeights(), getStates())) {
    auto fn = symbols.lookupNearestSymbolFrom<LayerKindOp>(*this, kind);
    if (!fn) // layers_c3
      return emitOpError("names no layer kind: ") << kind;
    if (fn.getArgumentTypes()[0] != getX().getType()) // layers_c4
      return emitOpError("expects ") << kind << " to take " << getX().getType();
    auto weights = cast<ArrayAttr>(list).getAsRange<FlatSymbolRefAttr>();
    auto expected = fn.weightTypes();
    if (cast<ArrayAttr>(list).size() != expected.size()) // layers_c5
      return emitOpError("layer ") << layer << " passes " << cast<ArrayAttr>(list).size()
                                   << " weights, " << kind << " takes " << expected.size();
    for (auto [ref, type] : llvm::zip(weights, expected)) {
      auto weight = symbols.lookupNearestSymbolFrom<WeightOp>(*this, ref);
      if (!weight || weight.getType() != type) // layers_c6
        return emitOpError("layer ")
               << layer << " expects " << ref << " to be a weight of type " << type;
    }
    SmallVector<Type> passed;
    for (auto ref : cast<ArrayAttr>(states).getAsRange<FlatSymbolRefAttr>()) {
      auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, ref);
      passed.push_back(state ? StateType::get(getContext(), state.getLayout()) : Type());
    }
    if (ArrayRef<Type>(passed) != fn.stateTypes()) // layers_c8
      return emitOpError("layer ") << layer << " passes states " << states << ", " << kind
                                   << " takes (" << fn.stateTypes() << ")";
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
// Layers of a transformer
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::verify() {
  WeightType weight = getWeight().getType();
  if (weight.isVector() || widthOf(getResult()) != weight.columns()) // embed_c1
    return emitOpError("expects rows of ") << weight.columns() << " values from " << weight;
  return success();
}

LogicalResult RmsNormOp::verify() {
  if (failed(expectRows(*this, getX(), "x")))
    return failure();
  int64_t width = widthOf(getX()), heads = getHeads();
  if (heads < 1 || width % heads) // rms_norm_c1
    return emitOpError("expects heads to divide the width ") << width << ", got " << heads;
  return expectVector(*this, getWeight().getType(), width / heads, "the weight"); // rms_norm_c2
}

LogicalResult LayerNormOp::verify() {
  if (failed(expectRows(*this, getX(), "x")) ||
      failed(expectVector(*this, getWeight().getType(), widthOf(getX()),
                          "the weight"))) // layer_norm_c1
    return failure();
  if (getBias()) // layer_norm_c2
    return expectVector(*this, getBias().getType(), widthOf(getX()), "the bias");
  return success();
}

bool lm::isRowNorm(Operation *op) {
  auto norm = dyn_cast<RmsNormOp>(op);
  return isa<LayerNormOp>(op) || (norm && norm.getHeads() == 1);
}

LogicalResult LinearOp::verify() {
  WeightType weight = getWeight().getType();
  if (weight.isVector() || widthOf(getX()) != weight.columns()) // linear_c1
    return emitOpError("expects x of ")
           << weight.columns() << " values for " << weight << ", got " << getX().getType();
  if (widthOf(getResult()) != weight.rows()) // linear_c2
    return emitOpError("expects a result of ")
           << weight.rows() << " values, got " << getResult().getType();
  if (getBias()) // linear_c3
    return expectVector(*this, getBias().getType(), weight.rows(), "the bias");
  return success();
}

LogicalResult RopeOp::verify() {
  int64_t width = widthOf(getX()), heads = getHeads();
  if (heads < 1 || width % heads) // rope_c1
    return emitOpError("expects heads to divide the width ") << width << ", got " << heads;
  WeightType f = getFrequencies().getType();
  if (!f.isVector() || 2 * f.rows() > width / heads) // rope_c2
    return emitOpError("expects at most ") << width / heads / 2 << " frequencies, got " << f;
  return success();
}

/// A paged state of keys and values, of one shape.
static LogicalResult expectKeysAndValues(Operation *op, TypedValue<StateType> state) {
  PagedAttr paged = state.getType().paged();
  auto streams = paged ? paged.getStreams() : ArrayRef<StreamAttr>();
  if (streams.size() != 2 || streams[0].getRows() != streams[1].getRows() ||
      streams[0].getWidth() != streams[1].getWidth())
    return op->emitOpError("expects a paged state of keys and values of one shape, got ")
           << state.getType();
  return success();
}

LogicalResult KvAppendOp::verify() {
  if (failed(expectKeysAndValues(*this, getKv()))) // kv_append_c1
    return failure();
  StreamAttr keys = getKv().getType().paged().getStreams().front();
  if (widthOf(getK()) != keys.values() || getK().getType() != getV().getType()) // kv_append_c2
    return emitOpError("expects k and v of ")
           << keys.values() << " values for " << getKv().getType();
  return success();
}

LogicalResult CausalConvOp::verify() {
  const int64_t channels = widthOf(getX());
  FixedAttr fixed = getBefore().getType().fixed();
  auto streams = fixed ? fixed.getStreams() : ArrayRef<StreamAttr>();
  if (failed(expectRows(*this, getX(), "x")))
    return failure();
  if (streams.size() != 1 || streams.front().getWidth() != channels) // causal_conv_c1
    return emitOpError("expects a fixed state of earlier rows of ")
           << channels << " values, got " << getBefore().getType();
  if (failed(expectVector(*this, getWeight().getType(), (streams.front().getRows() + 1) * channels,
                          "the weight"))) // causal_conv_c2
    return failure();
  if (getBias()) // causal_conv_c3
    return expectVector(*this, getBias().getType(), channels, "the bias");
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(expectKeysAndValues(*this, getKv()))) // attention_c4
    return failure();
  int64_t heads = getHeads();
  StreamAttr keys = getKv().getType().paged().getStreams().front();
  if (heads < 1 || heads % keys.getRows()) // attention_c1
    return emitOpError("expects the KV heads to divide heads, got ")
           << keys.getRows() << " and " << heads;
  if (widthOf(getQ()) != heads * keys.getWidth() ||
      getQ().getType() != getResult().getType()) // attention_c2
    return emitOpError("expects q of ")
           << heads << " heads of " << keys.getWidth() << " values, and a result of its type";
  if (int64_t(getWindow()) < 0) // attention_c3
    return emitOpError("expects a window of 0 (all positions) or more");
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise and fusion
//===----------------------------------------------------------------------===//

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().convertToFloat() == 1.0f ? OpFoldResult(getX()) : OpFoldResult();
}

LogicalResult FusedOp::verify() {
  if (getBody().front().getTerminator()->getOperandTypes() !=
      TypeRange(getResultTypes())) // fused_c1
    return emitOpError("expects its region to yield the types of its results");
  return success();
}
