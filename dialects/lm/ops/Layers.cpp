//===- Layers.cpp - See Layers.h ------------------------------------------===//
#include "dialects/lm/ops/Layers.h"
#include "dialects/lm/ops/Weights.h"
#include "runtime/formats/KvFormat.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::lm;

#define GET_OP_CLASSES
#include "dialects/lm/ops/Layers.cpp.inc"

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

StringAttr LayerKindOp::elementOf(unsigned state) {
  return getArgAttrOfType<StringAttr>(1 + state, kElementAttr);
}

void LayerKindOp::setElement(unsigned state, StringAttr element) {
  setArgAttr(1 + state, kElementAttr, element);
}

LogicalResult StateOp::verify() {
  if (!getElement())
    return success();
  if (!isa<PagedAttr>(getLayout()) || !kvFormatNamed(*getElement())) // state_c1
    return emitOpError("expects a paged layout of ")
           << kvFormatNames(isOfAny, "or") << ", got " << getElementAttr();
  return success();
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
    SmallVector<StringAttr> elements;
    for (auto ref : cast<ArrayAttr>(states).getAsRange<FlatSymbolRefAttr>()) {
      auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, ref);
      passed.push_back(state ? StateType::get(getContext(), state.getLayout()) : Type());
      elements.push_back(state ? state.getElementAttr() : StringAttr());
    }
    if (ArrayRef<Type>(passed) != fn.stateTypes()) // layers_c8
      return emitOpError("layer ") << layer << " passes states " << states << ", " << kind
                                   << " takes (" << fn.stateTypes() << ")";
    for (auto [i, element] : llvm::enumerate(elements))
      if (fn.elementOf(unsigned(i)) != element) // layers_c9
        return emitOpError("layer ")
               << layer << " passes " << cast<ArrayAttr>(states)[i]
               << ", whose values are not those that " << kind << " takes (" << kElementAttr << ")";
  }
  return success();
}
