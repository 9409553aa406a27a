//===- Dispatch.cpp - Kernels on values -----------------------------------===//
#include "dialects/kernel/ops/Dispatch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::kernel;

#define GET_OP_CLASSES
#include "dialects/kernel/ops/Dispatch.cpp.inc"

LaunchInterface DispatchOp::anchor() { return anchorOf(getBody().front()); }

BlockArgument DispatchOp::memoryOf(OpResult result) {
  const int64_t number = result.getResultNumber(), tied = getTied()[number];
  if (tied >= 0)
    return memoryOfInput(tied);
  const auto untied = llvm::count_if(getTied().take_front(number), [](int64_t t) { return t < 0; });
  return getBody().getArgument(getInputs().size() + untied);
}

Type kernel::memoryOf(Type value, KvFormat kv) {
  MLIRContext *context = value.getContext();
  if (isa<RankedTensorType>(value))
    return encodingOf(value) ? rowsOf(value) : Type();
  if (auto routes = dyn_cast<lm::RoutesType>(value))
    return RoutesType::get(context, routes.getExperts(), routes.getUsed());
  auto state = dyn_cast<lm::StateType>(value);
  if (!state)
    return isa<lm::WeightType>(value) ? value : Type();
  if (lm::FixedAttr fixed = state.fixed())
    return FixedStateType::get(context, fixed);
  lm::StreamAttr keys = state.paged().getStreams().front();
  return KvPoolType::get(context, keys.getRows(), keys.getWidth(), kv);
}

/// Whether memory of that type holds such a value.
static bool holds(Type memory, Type value) {
  auto pool = dyn_cast<KvPoolType>(memory);
  return memory == memoryOf(value, pool ? pool.getFormat() : KvFormat());
}

LogicalResult DispatchOp::verify() {
  const int64_t inputs = getInputs().size();
  if (getTied().size() != getNumResults() || llvm::any_of(getTied(), [&](int64_t tied) {
        return tied < -1 || tied >= inputs;
      })) // dispatch_c1
    return emitOpError("expects an operand, or -1, for each of its ")
           << getNumResults() << " results";
  for (auto [result, tied] : llvm::zip(getResults(), getTied()))
    if (tied >= 0 && (result.getType() != getInputs()[tied].getType() ||
                      llvm::count(getTied(), tied) != 1)) // dispatch_c2
      return emitOpError("expects an operand of the same type for each tied result, got ")
             << result.getType();
  const int64_t untied = llvm::count(getTied(), -1);
  if (getBody().getNumArguments() != inputs + untied) // dispatch_c3
    return emitOpError("expects a region with ") << inputs + untied << " arguments";
  SmallVector<Type> held(getInputs().getTypes());
  for (auto [result, tied] : llvm::zip(getResults(), getTied()))
    if (tied < 0)
      held.push_back(result.getType());
  for (auto [argument, value] : llvm::zip(getBody().getArguments(), held))
    if (!holds(argument.getType(), value) || argument.use_empty()) // dispatch_c4
      return emitOpError("expects a used argument for the memory of ")
             << value << ", got " << argument.getType();
  if (!anchor()) // dispatch_c5
    return emitOpError("expects one op that is neither producer nor consumer");
  return success();
}
