//===- Structure.cpp - Kernels --------------------------------------------===//
#include "dialects/kernel/ops/Structure.h"
#include "runtime/abi/Batch.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Structure.cpp.inc"

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> args, ArrayRef<Type> results,
                  function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), build,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}
void FuncOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(p, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}
void FuncOp::build(OpBuilder &b, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), b.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}
/// Returns whether the op takes results of an anchor.
static bool isConsumer(Operation &op) {
  auto launch = dyn_cast<LaunchInterface>(op);
  Value rows = launch ? launch.rowOperand() : Value();
  return llvm::any_of(op.getOperands(), [&](Value operand) {
    return operand != rows && isa<FusedType>(operand.getType());
  });
}
/// Returns whether the op produces the rows of another op.
static bool isProducer(Operation &op) {
  return llvm::any_of(op.getUses(), [](OpOperand &use) {
    auto launch = dyn_cast<LaunchInterface>(use.getOwner());
    return launch && launch.rowOperand() == use.get();
  });
}
static bool isAnchor(Operation &op) {
  return isa<LaunchInterface>(op) && !isConsumer(op) && !isProducer(op);
}
LaunchInterface kernel::anchorOf(Block &ops) {
  return llvm::count_if(ops, isAnchor) == 1 ? cast<LaunchInterface>(*llvm::find_if(ops, isAnchor))
                                            : LaunchInterface();
}

Operation *FuncOp::anchor() { return launch(); }
LaunchInterface FuncOp::launch() { return anchorOf(getBody().front()); }

SmallVector<OperandEffect> FuncOp::operandEffects() {
  SmallVector<OperandEffect> effects(getNumArguments());
  SmallVector<MemoryEffects::EffectInstance> all;
  for (Operation &op : ops())
    cast<MemoryEffectOpInterface>(op).getEffects(all);
  for (const MemoryEffects::EffectInstance &one : all)
    if (auto operand = dyn_cast<BlockArgument>(one.getValue())) {
      OperandEffect &effect = effects[operand.getArgNumber()];
      effect.reads |= isa<MemoryEffects::Read>(one.getEffect());
      effect.writes |= isa<MemoryEffects::Write>(one.getEffect());
    }
  return effects;
}

int64_t FuncOp::bytesPerUnit() {
  int64_t bytes = 0;
  LaunchInterface op = launch();
  for (auto [argument, effect] : llvm::zip(getArguments(), operandEffects())) {
    const int64_t accesses = effect.reads + effect.writes;
    Type type = argument.getType();
    if (auto rows = dyn_cast<ActivationType>(type))
      bytes += accesses * rows.rowBytes() * op.rowsOfUnit(argument);
    else if (auto routes = dyn_cast<RoutesType>(type))
      bytes += accesses * routes.bytesPerToken();
    else if (auto pool = dyn_cast<KvPoolType>(type))
      bytes += effect.writes * pool.pageBytes() / kPageTokens;
    else if (auto state = dyn_cast<FixedStateType>(type))
      bytes += accesses * state.slotBytes(); // a decoding sequence has one token
    else if (auto weight = dyn_cast<WeightType>(type); weight && op.gathersWeights())
      bytes += packedRowBytes(weight); // the row of its token
  }
  return bytes;
}

void FuncOp::addWorkspace(int64_t bytes) {
  if (!bytes || launch().workspace())
    return;
  launch().takeWorkspace(
      getBody().front().addArgument(WorkspaceType::get(getContext(), bytes), getLoc()));
  setFunctionType(FunctionType::get(getContext(), getBody().getArgumentTypes(), {}));
}

bool kernel::isMemory(Type type) {
  return isa<ActivationType, RoutesType, KvPoolType, FixedStateType, WeightType, WorkspaceType>(
      type);
}

LogicalResult FuncOp::verify() {
  Block &body = getBody().front();
  if (!anchorOf(body) || !isa<ReturnOp>(body.back())) // func_c1
    return emitOpError("expects one op that is neither producer nor consumer, and a return");
  for (Operation &op : ops()) {
    if (!isAnchor(op) && !isProducer(op) && !isConsumer(op)) // func_c5
      return op.emitOpError(
          "neither produces rows for the kernel's anchor nor consumes its results");
    if (llvm::any_of(op.getResults(),
                     [](Value fusedValue) { return fusedValue.use_empty(); })) // func_c6
      return op.emitOpError("has a result that nothing in the kernel uses");
    if (auto own = dyn_cast<LaunchInterface>(op);
        own && own.isPerRow() != launch().isPerRow()) // func_c7
      return op.emitOpError(
          "expects the kernel's anchor to count tokens, or logits rows, as it does");
  }
  if (getFunctionType().getNumResults()) // func_c2
    return emitOpError("expects no results: a kernel writes its operands");
  for (Type type : getArgumentTypes())
    if (!isMemory(type)) // func_c3
      return emitOpError(
                 "expects operands to be rows, routes, weights, a workspace or states, got ")
             << type;
  if (leastCount() < 1 || mostCount() < leastCount()) // func_c4
    return emitOpError("expects counts from at least 1 up, got ") << *getCounts();
  return success();
}

LogicalResult kernel::expectLayout(FuncOp kernel, lm::WeightLayout layout) {
  for (Type type : kernel.getArgumentTypes()) {
    auto weight = dyn_cast<WeightType>(type);
    if (weight && !weight.isVectors() && weight.getLayout() != lm::WeightLayout::Open &&
        weight.getLayout() != layout)
      return kernel.emitOpError("expects matrices in the layout ")
             << stringifyWeightLayout(layout) << " on this target, got " << weight;
  }
  return success();
}
