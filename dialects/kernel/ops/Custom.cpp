//===- Custom.cpp - External kernels ----------------------------------------===//
#include "dialects/kernel/ops/Custom.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;
using lm::WeightType;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Custom.cpp.inc"

/// Returns whether memory of the kernel type `memory` holds values of the lm type `value`.
static bool isHeldBy(Type value, Type memory) {
  if (auto rows = dyn_cast<ActivationType>(memory))
    return rows.getKind() == RowKind::F32 && value == lm::rowsType(value.getContext(), rows.getN());
  if (auto state = dyn_cast<FixedStateType>(memory))
    return value == lm::StateType::get(value.getContext(), state.getLayout());
  auto weight = dyn_cast<WeightType>(memory);
  return weight && weight.isVector() && value == memory;
}

SmallVector<Value> CustomOp::memoryOfArguments() {
  SmallVector<Value> memory;
  auto next = getInputs().begin(), end = getInputs().end();
  for (Type type : getMeaning().getArgumentTypes())
    memory.push_back(isa<lm::BatchType>(type)   ? Value()
                     : isa<lm::StateType>(type) ? getState()
                     : next == end              ? Value()
                                                : *next++);
  return memory;
}

LogicalResult CustomOp::verify() {
  const SmallVector<Value> memory = memoryOfArguments();
  size_t inputs = 0, states = 0;
  for (auto [type, held] : llvm::zip_equal(getMeaning().getArgumentTypes(), memory)) {
    if (isa<lm::BatchType>(type))
      continue;
    if (!held || !isHeldBy(type, held.getType())) // custom_c1
      return emitOpError(
                 "expects f32 rows, vectors and a state as its region takes them, where that takes ")
             << type;
    ++(held == getState() ? states : inputs);
  }
  if (inputs != getInputs().size() || states != (getState() ? 1 : 0)) // custom_c2
    return emitOpError("expects its region to take each of its operands");
  auto results = dyn_cast<ResultsOp>(getMeaning().front().back());
  if (!results) // custom_c3
    return emitOpError("expects its region to end with kernel.results");
  SmallVector<Value> given(getOutputs());
  if (getState())
    given.push_back(getState());
  if (!llvm::equal(results.getValues(), given, [](Value value, Value held) {
        return isHeldBy(value.getType(), held.getType());
      })) // custom_c3
    return emitOpError("expects its region to give rows of its outputs, then its state");
  if (getState() && getState().getType().getLayout().getStreams().size() != 1) // custom_c4
    return emitOpError("expects a state of one stream");
  return success();
}

WorkItems CustomOp::workItems() {
  return {getState() ? WorkItems::Spans : WorkItems::Tokens, 1, false};
}
int64_t CustomOp::operationsPerUnit() { return getOperations(); }
