//===- Structure.cpp - Kernels --------------------------------------------===//
#include "dialects/kernel/ops/Structure.h"
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
Operation *FuncOp::structuredOp() { return &getBody().front().front(); }
LaunchInterface FuncOp::launch() { return cast<LaunchInterface>(structuredOp()); }

LogicalResult FuncOp::verify() {
  Block &body = getBody().front();
  if (llvm::range_size(body) != 2 || !isa<LaunchInterface>(body.front()) ||
      !isa<ReturnOp>(body.back())) // func_c1
    return emitOpError("expects one structured op and a return");
  if (getFunctionType().getNumResults()) // func_c2
    return emitOpError("expects no results: a kernel writes its operands");
  for (Type type : getArgumentTypes())
    if (!isa<RowsType, KvPoolType, FixedStateType, WeightType, WorkspaceType>(type)) // func_c3
      return emitOpError("expects operands to be rows, weights, a workspace or states, got ")
             << type;
  if (leastCount() < 1 || mostCount() < leastCount()) // func_c4
    return emitOpError("expects counts from at least 1 up, got ") << *getCounts();
  return success();
}

LogicalResult kernel::expectLayout(FuncOp kernel, lm::WeightLayout layout) {
  for (Type type : kernel.getArgumentTypes()) {
    auto weight = dyn_cast<WeightType>(type);
    if (weight && !weight.isVector() && weight.getLayout() != lm::WeightLayout::Open &&
        weight.getLayout() != layout)
      return kernel.emitOpError("expects matrices that lie as ")
             << stringifyWeightLayout(layout) << " on this target, got " << weight;
  }
  return success();
}
