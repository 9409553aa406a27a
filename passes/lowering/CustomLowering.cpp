//===- CustomLowering.cpp - Ops of plugins, with kernels of their own -------===//
#include "dialects/kernel/ops/Custom.h"
#include "dialects/lm/LmInterfaces.h"
#include "dialects/lm/ops/Fused.h"
#include "passes/lowering/SectionLowering.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ingot;
using kernel::Extent;

/// As in RowOpInterface::largestError.
static constexpr double kErrorOfFiles = 4e-6;

/// Why a value cannot be an operand of a user-supplied kernel; empty if it can.
static std::string refusalOf(Value value) {
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

LogicalResult SectionLowering::lowerCustom(Operation *top, ArrayRef<Value> read,
                                           const CustomKernel &code) {
  SmallVector<LaunchOperand> operands;
  Value state;
  for (Value value : read) {
    if (std::string why = refusalOf(value); !why.empty())
      return top->emitOpError("takes ") << why << ", which user-supplied kernels do not support";
    if (isa<lm::StateType>(value.getType()))
      state = value;
    else if (!isa<lm::BatchType>(value.getType()))
      operands.push_back(operand(value));
  }
  const size_t inputs = operands.size();
  if (state)
    operands.push_back(stateOperand(state));
  SmallVector<Value> rows, given;
  for (Value result : top->getResults())
    if (isa<RankedTensorType>(result.getType()))
      rows.push_back(result);
  for (Value result : rows)
    operands.push_back(output(launchName(top), result));
  launch(launchName(top), operands, [&](ImplicitLocOpBuilder &b, ValueRange args) {
    auto op = kernel::CustomOp::create(b, args.take_front(inputs), state ? args[inputs] : Value(),
                                       args.take_back(rows.size()), code.origin, code.body,
                                       APFloat(code.error), code.operations);
    OpBuilder::InsertionGuard guard(b);
    Block *meaning = b.createBlock(&op.getMeaning());
    IRMapping values;
    for (Value value : read)
      values.map(value, meaning->addArgument(value.getType(), b.getLoc()));
    code.meaning(b, values);
    for (Value result : rows)
      given.push_back(values.lookup(result));
    for (Value result : top->getResults())
      if (!isa<RankedTensorType>(result.getType()))
        given.push_back(values.lookup(result));
    kernel::ResultsOp::create(b, given);
  });
  return success();
}

/// Lowers an op that has no kernel on this target as its decomposition, op by op.
LogicalResult SectionLowering::lowerDecomposed(lm::RowOpInterface op) {
  OpBuilder b(op);
  auto before = op->getIterator();
  const bool first = before == block.begin();
  if (!first)
    --before;
  FailureOr<SmallVector<Value>> made = op.decompose(b);
  if (failed(made))
    return op.emitOpError("has neither a kernel for ")
           << program.choices.device << " nor a decomposition";
  if (failed(lowerRange(first ? block.begin() : std::next(before), op->getIterator())))
    return failure();
  op->replaceAllUsesWith(*made);
  return success();
}

LogicalResult SectionLowering::lowerOutside(lm::RowOpInterface op) {
  const std::string body = op.kernelBody(program.choices.device);
  if (body.empty())
    return lowerDecomposed(op);
  // An operand that occurs twice becomes two arguments of the kernel.
  SmallVector<Value> read(op->getOperands());
  return lowerCustom(op, read,
                     {op->getName().getStringRef(), body, op.largestError(), op.operationsPerRow(),
                      [&](ImplicitLocOpBuilder &b, IRMapping &values) {
                        Operation *copy = b.clone(*op, values);
                        for (auto [i, argument] : llvm::enumerate(b.getBlock()->getArguments()))
                          copy->setOperand(unsigned(i), argument);
                      }});
}

/// Lowers a region with code from a file: its operands are the values it reads from above, in order of first
/// use.
LogicalResult SectionLowering::lowerWithKernel(lm::FusedOp op, StringRef body) {
  Block &region = op.getBody().front();
  llvm::SetVector<Value> read;
  for (Operation &inner : region.without_terminator())
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != &region)
        read.insert(operand);
  return lowerCustom(
      op, read.getArrayRef(),
      {op.getPattern(), body, kErrorOfFiles, 0, [&](ImplicitLocOpBuilder &b, IRMapping &values) {
         for (Operation &inner : region.without_terminator())
           b.clone(inner, values);
         for (auto [result, given] :
              llvm::zip(op.getResults(), region.getTerminator()->getOperands()))
           values.map(result, values.lookup(given));
       }});
}
