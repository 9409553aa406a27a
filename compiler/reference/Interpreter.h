//===- Interpreter.h - A simple, slow interpreter of lm -------------------===//
//
// The interpreter defines the meaning of a program, without regard for speed. It computes every op in f32, and a fused
// op as the ops of its region. Passes are checked against it (Compare.h), and so are kernels.
//
//   SeededWeights weights;
//   auto interpreter = Interpreter::create(module, weights);
//   KvState kv;
//   auto logits = (*interpreter)->step({.ids = {1, 2, 3}, …}, kv);   // [R][vocab]
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Arithmetic.h"
#include "compiler/reference/Weights.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace ingot::lm {
class ModelOp;
}

namespace ingot::reference {

/// Tokens of any number of sequences; the tokens of a sequence are in order of position.
struct Step {
  std::vector<int32_t> ids;
  std::vector<int32_t> sequences; ///< empty: all tokens belong to sequence 0
  std::vector<int64_t> positions; ///< empty: 0, 1, 2 …
  /// Rows for which logits are requested; empty: all rows.
  std::vector<int32_t> logitsRows;
};

class Interpreter {
public:
  /// The module holds one lm.model with an entry (E0453 otherwise). Module and weights must outlive the
  /// interpreter.
  static Result<std::unique_ptr<Interpreter>> create(mlir::ModuleOp module,
                                                     WeightProvider &weights);

  /// Runs only these layers, in order (for slices). By default all layers run.
  void useLayers(std::vector<int64_t> indices) { layers = std::move(indices); }

  /// Sets a callback for the rows that each layer returns, called right after the layer ran.
  using WatchLayer = std::function<void(int64_t layer, const Matrix &rows)>;
  void watchLayers(WatchLayer call) { watch = std::move(call); }

  /// Sets a callback for the rows that each op produces, including ops within regions.
  using WatchRows = std::function<void(const Matrix &rows)>;
  void watchRows(WatchRows call) { watchOps = std::move(call); }

  /// Returns the logits of the requested rows: [R][vocab]. `kv` holds the past and receives this step's keys
  /// and values. Errors: an id outside the vocabulary (E0454), an op that is not an lm op (E0455), and all errors of
  /// the weights.
  Result<Matrix> step(const Step &step, KvState &kv);

  lm::ModelOp model() const;

private:
  Interpreter(mlir::Operation *root, WeightProvider &weights) : root(root), weights(weights) {}

  mlir::Operation *root; ///< the lm.model
  WeightProvider &weights;
  std::vector<int64_t> layers;
  WatchLayer watch;
  WatchRows watchOps;
};

/// An operand or result of a block of lm ops that is run outside a program. If the value is a batch, all fields are
/// empty.
struct RowsValue {
  std::shared_ptr<const Matrix> rows;
  mlir::Operation *weight = nullptr;                ///< an lm.weight
  std::map<int32_t, std::vector<float>> state = {}; ///< a fixed state, by sequence
};

/// Runs a block of ops on rows. `operands` are the values of its arguments. Returns the terminator's operands.
Result<std::vector<RowsValue>> runRows(mlir::Block &block, std::vector<RowsValue> operands,
                                       const Batch &batch, WeightProvider &weights);

} // namespace ingot::reference
