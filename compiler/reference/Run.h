//===- Run.h - One step of the interpreter -----------------------------------===//
//
// Interpreter.cpp implements the ops of lm, and OutsideOps.cpp implements the ops of plugins.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Interpreter.h"
#include "compiler/reference/Routes.h"
#include "dialects/lm/LmInterfaces.h"
#include "dialects/lm/LmOps.h"

/// Shared by the interpreter's own sources.
namespace ingot::reference::interpreter {

/// The value of a state inside a layer kind.
struct StateValue {
  int64_t slot = -1;                  ///< the index of its lm.state; -1: all states, in the entry
  std::map<int32_t, int64_t> lengths; ///< paged: length when the value was made, by sequence
  std::map<int32_t, std::vector<float>>
      values; ///< fixed state: its elements, by sequence of this step
};

/// The content of an SSA value. Batch and ids come from the step.
struct Content {
  std::shared_ptr<const Matrix> rows;
  lm::WeightOp weight;
  StateValue state = {};
  std::shared_ptr<const Routes> routes = {};
};

/// One step through the program.
class Run {
public:
  /// `root` is the lm.model, or another symbol table if only rows are computed.
  Run(mlir::Operation *root, WeightProvider &weights, llvm::ArrayRef<int64_t> layers,
      const Step &step, const Batch &batch, KvState &kv, const Interpreter::WatchLayer &watch = {},
      const Interpreter::WatchRows &watchOps = {})
      : symbols(root), weights(weights), layers(layers), step(step), batch(batch), state(kv),
        watch(watch), watchOps(watchOps) {
    if (auto model = mlir::dyn_cast<lm::ModelOp>(root))
      for (auto [i, op] : llvm::enumerate(model.getBody().getOps<lm::StateOp>()))
        slots[op.getSymNameAttr()] = static_cast<int64_t>(i);
  }

  /// Runs a block and returns the terminator's operands. The block's arguments must already be bound.
  Result<llvm::SmallVector<Content>> runBlock(mlir::Block &block);
  void bind(mlir::Value value, Content content) {
    if (watchOps && content.rows)
      watchOps(*content.rows);
    contents[value] = std::move(content);
  }

private:
  Result<llvm::SmallVector<Content>> runOps(mlir::Block &block, mlir::Block::iterator end,
                                            mlir::ValueRange results);
  Result<void> runOp(mlir::Operation *op);
  Result<Matrix> compute(mlir::Operation *op);
  Result<Matrix> embed(lm::EmbedOp op);
  Result<Matrix> embedPositions(lm::EmbedPositionsOp op);
  Result<Matrix> linear(lm::LinearOp op);
  Result<Matrix> linearOfRoutes(lm::LinearOp op);
  Result<void> route(lm::RouteOp op);
  Result<void> runFused(lm::FusedOp op);
  Result<void> runLayers(lm::LayersOp op);
  Result<Content> runLayer(lm::LayersOp op, int64_t index, Content x);
  StateValue stateBefore(int64_t slot, mlir::Value argument);
  void keep(const StateValue &left);
  void append(lm::KvAppendOp op);
  Result<void> convolve(lm::CausalConvOp op);
  Result<void> runOutside(lm::RowOpInterface op);
  Result<void> evaluateRows(lm::RowOpInterface op);
  /// Returns the elements of a vector weight; empty if there is no weight.
  Result<std::vector<float>> vectorOf(mlir::Value weight);
  const Routes &routes(mlir::Value value) { return *contents.lookup(value).routes; }

  const Matrix &rows(mlir::Value value) { return *contents.lookup(value).rows; }

  mlir::SymbolTable symbols;
  WeightProvider &weights;
  llvm::ArrayRef<int64_t> layers;
  const Step &step;
  const Batch &batch;
  KvState &state;
  const Interpreter::WatchLayer watch;
  const Interpreter::WatchRows watchOps;
  llvm::DenseMap<mlir::Attribute, int64_t> slots; ///< by symbol
  llvm::DenseMap<mlir::Value, Content> contents;
};

} // namespace ingot::reference::interpreter
