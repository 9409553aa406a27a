//===- Interpreter.h - Runs lm, slowly and plainly ------------------------===//
//
// The meaning of a program, with no regard for speed: every op in f32, a fused op as
// the ops of its region. Passes are checked against it (Compare.h), kernels too.
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

/// Tokens of any number of sequences, each sequence's in order of position.
struct Step {
  std::vector<int32_t> ids;
  std::vector<int32_t> sequences; ///< empty: all of sequence 0
  std::vector<int64_t> positions; ///< empty: 0, 1, 2 …
  /// Rows whose logits are asked for; empty: all of them.
  std::vector<int32_t> logitsRows;
};

class Interpreter {
public:
  /// The module holds one lm.model, which has an entry (E0453 otherwise). Module and weights must outlive it.
  static Result<std::unique_ptr<Interpreter>> create(mlir::ModuleOp module,
                                                     WeightProvider &weights);

  /// Runs only these layers, in order (for slices). All layers without it.
  void useLayers(std::vector<int64_t> indices) { layers = std::move(indices); }

  /// Calls with the rows that each layer hands on, as soon as it has run.
  using WatchLayer = std::function<void(int64_t layer, const Matrix &rows)>;
  void watchLayers(WatchLayer call) { watch = std::move(call); }

  /// Calls with the rows that each op makes, also within regions.
  using WatchRows = std::function<void(const Matrix &rows)>;
  void watchRows(WatchRows call) { watchOps = std::move(call); }

  /// Logits of the asked rows: [R][vocab]. `kv` holds the past and gets this step's keys and
  /// values. Errors: an id outside the vocabulary (E0454), an op that is no op of lm (E0455),
  /// and those of the weights.
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

/// What a block of lm takes and gives outside of a program. Of a batch: nothing.
struct RowsValue {
  std::shared_ptr<const Matrix> rows;
  mlir::Operation *weight = nullptr;                ///< an lm.weight
  std::map<int32_t, std::vector<float>> state = {}; ///< a fixed one, by sequence
};

/// Computes a block of ops that work on rows: its arguments are `operands`, its results what its terminator has.
Result<std::vector<RowsValue>> runRows(mlir::Block &block, std::vector<RowsValue> operands,
                                       const Batch &batch, WeightProvider &weights);

} // namespace ingot::reference
