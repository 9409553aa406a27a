//===- RowRegion.cpp - See RowRegion.h ------------------------------------===//
#include "codegen/cuda/RowRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cuda;
using kernel::RowsType;

std::string ingot::cuda::elementAt(const KernelText &k, Value memory, StringRef row) {
  auto rows = dyn_cast<RowsType>(memory.getType());
  if (!rows)
    return (k.nameOf(memory) + "[i]").str();
  return llvm::formatv("{0}[(i64){1} * {2} + i]", k.nameOf(memory), row, rowStride(rows));
}

RowRegion::RowRegion(KernelText &k, Region &region, ValueRange inputs)
    : k(k), body(region.front()), inputs(inputs) {
  for (Operation &op : body.without_terminator()) {
    auto stat = dyn_cast<kernel::RowStatOp>(op);
    if (stat)
      statistics.push_back(stat);
    if (stat || llvm::all_of(op.getOperands(), [&](Value v) { return uniform.contains(v); }))
      uniform.insert_range(op.getResults());
  }
}

void RowRegion::restart() {
  texts.clear();
  count = 0;
}

LogicalResult RowRegion::emitUniform(Operation *end) {
  for (Operation &op : body.without_terminator()) {
    if (&op == end)
      break;
    if (isa<kernel::RowStatOp>(op) || !op.getNumResults() || !uniform.contains(op.getResult(0)) ||
        texts.contains(op.getResult(0)))
      continue;
    if (failed(emitOp(op, texts, "s" + std::to_string(nextNumber()))))
      return failure();
  }
  return success();
}

LogicalResult RowRegion::emitOp(Operation &op, Memo &memo, const std::string &name) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    memo[constant.getResult()] = floatText(cast<FloatAttr>(constant.getValue()).getValueAsDouble());
    return success();
  }
  KernelText::Texts operands;
  for (Value operand : op.getOperands())
    operands.push_back(memo.lookup(operand));
  std::string text = KernelText::expression(&op, operands);
  if (text.empty())
    return op.emitOpError("has no CUDA rendering in the region of this op");
  k.line("const float {0} = {1};", name, text);
  memo[op.getResult(0)] = name;
  return success();
}

FailureOr<std::string> RowRegion::emitElement(Value value, StringRef row, Memo &memo) {
  if (memo.contains(value))
    return memo.lookup(value);
  if (uniform.contains(value))
    return memo[value] = texts.lookup(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    std::string name = ("e" + Twine(argument.getArgNumber())).str();
    k.line("const float {0} = {1};", name, elementAt(k, inputs[argument.getArgNumber()], row));
    return memo[value] = name;
  }
  Operation *source = value.getDefiningOp();
  for (Value operand : source->getOperands())
    if (failed(emitElement(operand, row, memo)))
      return failure();
  if (failed(emitOp(*source, memo, "v" + std::to_string(memo.size()))))
    return failure();
  return memo.lookup(value);
}
