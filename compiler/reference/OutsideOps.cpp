//===- OutsideOps.cpp - Plugin ops, and rows outside of programs ---------------===//
#include "compiler/reference/Run.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference;
using namespace ingot::reference::interpreter;

/// Runs a plugin op. Decomposes a copy of the op in a private block, or evaluates the op row by row.
Result<void> Run::runOutside(lm::RowOpInterface op) {
  Block block;
  OpBuilder b(op.getContext());
  b.setInsertionPointToStart(&block);
  Operation *copy = b.clone(*op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    copy->setOperand(static_cast<unsigned>(i), block.addArgument(operand.getType(), op.getLoc()));
  b.setInsertionPoint(copy);
  auto made = cast<lm::RowOpInterface>(copy).decompose(b);
  if (failed(made))
    return evaluateRows(op);
  for (auto [argument, operand] : llvm::zip(block.getArguments(), op->getOperands()))
    bind(argument, contents.lookup(operand));
  auto results = runOps(block, copy->getIterator(), *made);
  if (!results)
    return std::move(results.error());
  for (BlockArgument argument : block.getArguments())
    contents.erase(argument);
  for (auto [value, content] : llvm::zip_equal(op->getResults(), *results))
    bind(value, std::move(content));
  return {};
}

Result<void> Run::evaluateRows(lm::RowOpInterface op) {
  std::vector<std::vector<float>> vectors(op->getNumOperands());
  StateValue before;
  int64_t count = 0;
  for (auto [operand, vector] : llvm::zip(op->getOperands(), vectors)) {
    const Content content = contents.lookup(operand);
    if (content.rows)
      count = content.rows->rows;
    if (isa<lm::StateType>(operand.getType()))
      before = content.state;
    if (!content.weight)
      continue;
    auto read = vectorOf(operand);
    if (!read)
      return std::move(read.error());
    vector = std::move(*read);
  }
  SmallVector<std::shared_ptr<Matrix>> made;
  for (Value result : op->getResults())
    made.push_back(isa<RankedTensorType>(result.getType())
                       ? std::make_shared<Matrix>(count, lm::widthOf(result))
                       : nullptr);
  for (int64_t t = 0; t < count; ++t) {
    lm::RowOfOp row{{}, before.values[batch.sequences[t]], batch.positions[t], {}};
    for (auto [operand, vector] : llvm::zip(op->getOperands(), vectors)) {
      const Content &content = contents[operand];
      row.operands.push_back(content.rows ? ArrayRef<float>(content.rows->row(t))
                                          : ArrayRef(vector));
    }
    for (auto &rows : made)
      if (rows)
        row.results.push_back(rows->row(t));
    if (failed(op.evaluateRow(row)))
      return Error{
          ExitCode::File, "E0496",
          "the reference interpreter does not support " + op->getName().getStringRef().str(),
          "its plugin has neither a decomposition nor a row implementation (lm::RowOpInterface)",
          "give the op a decomposition (docs/kernel-from-outside.md)"};
  }
  for (auto [value, rows] : llvm::zip(op->getResults(), made))
    bind(value, rows ? Content{std::move(rows), {}} : Content{nullptr, {}, before});
  return {};
}

Result<std::vector<RowsValue>> reference::runRows(Block &block, std::vector<RowsValue> operands,
                                                  const Batch &batch, WeightProvider &weights) {
  const Step step;
  KvState none;
  Operation *root = block.getParentOp();
  while (!root->hasTrait<OpTrait::SymbolTable>())
    root = root->getParentOp();
  Run run(root, weights, {}, step, batch, none);
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), operands))
    run.bind(argument, {std::move(value.rows), cast_or_null<lm::WeightOp>(value.weight),
                        StateValue{-1, {}, std::move(value.state)}});
  auto results = run.runBlock(block);
  if (!results)
    return std::move(results.error());
  std::vector<RowsValue> given;
  for (Content &content : *results)
    given.push_back({std::move(content.rows), nullptr, std::move(content.state.values)});
  return given;
}
