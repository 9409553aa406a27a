//===- CustomKernels.cpp - User-supplied kernels, from plugins and files -------===//
#include "dialects/kernel/ops/Custom.h"
#include "dialects/lm/LmInterfaces.h"
#include "dialects/lm/ops/Fused.h"
#include "passes/select/KernelSelection.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ingot;
using kernel::Extent;

/// The largest permitted error of kernels from files; the unit is that of RowOpInterface::largestError.
static constexpr double kErrorOfFiles = 4e-6;

/// Why a value cannot be an operand of a user-supplied kernel; empty if it can.
static std::string whyNotOperand(Value value) {
  if (isa<lm::BatchType>(value.getType()))
    return "";
  if (auto state = dyn_cast<lm::StateType>(value.getType()))
    return state.fixed() ? "" : "a paged state";
  if (auto weight = dyn_cast<lm::WeightType>(value.getType()))
    return weight.isVector()
               ? ""
               : "a matrix of weights (multiply by it with lm.linear; the op takes the product)";
  if (!isa<RankedTensorType>(value.getType()))
    return "a value that is neither rows nor a vector";
  if (rowCountOf(value) != RowCount{})
    return "rows other than one for each token";
  return encodingOf(value.getType()) == kernel::RowKind::F32 ? "" : "rounded rows";
}

LogicalResult KernelSelection::selectCustom(Operation *top, ArrayRef<Value> read,
                                            const CustomKernel &code) {
  SmallVector<Value> operands;
  Value state;
  for (Value value : read) {
    if (std::string why = whyNotOperand(value); !why.empty())
      return top->emitOpError("takes ") << why << ", which user-supplied kernels do not support";
    if (isa<lm::StateType>(value.getType()))
      state = value;
    else if (!isa<lm::BatchType>(value.getType()))
      operands.push_back(value);
  }
  const int64_t inputs = operands.size();
  if (state)
    operands.push_back(state);
  // The kernel's results are rows, then the state.
  SmallVector<Result> results;
  for (Value result : top->getResults())
    if (isa<RankedTensorType>(result.getType()))
      results.emplace_back(result);
  for (Value result : top->getResults())
    if (!isa<RankedTensorType>(result.getType()))
      results.emplace_back(result, inputs);
  dispatch(launchName(top), launchName(top), operands, results,
           [&](ImplicitLocOpBuilder &b, ValueRange in, ValueRange out) {
             auto op = kernel::CustomOp::create(b, in.take_front(inputs),
                                                state ? in[inputs] : Value(), out, code.origin,
                                                code.body, APFloat(code.error), code.operations);
             OpBuilder::InsertionGuard guard(b);
             Block *meaning = b.createBlock(&op.getMeaning());
             IRMapping computed;
             for (Value value : read)
               computed.map(value, meaning->addArgument(value.getType(), b.getLoc()));
             code.meaning(b, computed);
             kernel::ResultsOp::create(b, llvm::map_to_vector(results, [&](const Result &result) {
                                         return computed.lookup(result.value);
                                       }));
           });
  return success();
}

/// Decomposes an op that has no kernel on this target, and selects the kernels of the resulting ops.
LogicalResult KernelSelection::selectDecomposed(lm::RowOpInterface op) {
  OpBuilder b(op);
  Operation *before = op->getPrevNode();
  FailureOr<SmallVector<Value>> made = op.decompose(b);
  if (failed(made))
    return op.emitOpError("has neither a kernel for ") << choices.device << " nor a decomposition";
  for (Operation *part = before ? before->getNextNode() : &block.front(); part != op.getOperation();
       part = part->getNextNode())
    if (failed(select(part)))
      return failure();
  op->replaceAllUsesWith(*made);
  return success();
}

LogicalResult KernelSelection::selectOutside(lm::RowOpInterface op) {
  const std::string body = op.kernelBody(choices.device);
  if (body.empty())
    return selectDecomposed(op);
  // An operand that occurs twice becomes two arguments of the kernel.
  SmallVector<Value> read(op->getOperands());
  return selectCustom(op, read,
                      {op->getName().getStringRef(), body, op.largestError(), op.operationsPerRow(),
                       [&](ImplicitLocOpBuilder &b, IRMapping &values) {
                         Operation *copy = b.clone(*op, values);
                         for (auto [i, argument] : llvm::enumerate(b.getBlock()->getArguments()))
                           copy->setOperand(unsigned(i), argument);
                       }});
}

/// Selects the kernel from a file for a region. The kernel's operands are the values that the region reads from
/// outside, in order of first use.
LogicalResult KernelSelection::selectWithKernel(lm::FusedOp op, StringRef body) {
  Block &region = op.getBody().front();
  llvm::SetVector<Value> read;
  for (Operation &inner : region.without_terminator())
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != &region)
        read.insert(operand);
  return selectCustom(
      op, read.getArrayRef(),
      {op.getPattern(), body, kErrorOfFiles, 0, [&](ImplicitLocOpBuilder &b, IRMapping &values) {
         for (Operation &inner : region.without_terminator())
           b.clone(inner, values);
         for (auto [result, given] :
              llvm::zip(op.getResults(), region.getTerminator()->getOperands()))
           values.map(result, values.lookup(given));
       }});
}
