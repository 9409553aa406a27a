//===- Launch.h - One launch of the slow machine ----------------------------===//
//
// What the families of ops (MatmulLaunch.cpp and its neighbours) see of a launch: the rows of its operands, its weights,
// the batch. Every access goes through here, where it is held against what the op declares.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Routes.h"
#include "compiler/reference/machine/RowForms.h"
#include "compiler/reference/machine/SlowMachine.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Section.h"

namespace ingot::kernel {
class ArgmaxFinishOp;
class ArgmaxOp;
class AttentionOp;
class CausalConvOp;
class CombineOp;
class CustomOp;
class DrawIdsOp;
class DrawWeighOp;
class Fp8RowsOp;
class GatherOp;
class GroupRoutesOp;
class MatmulOp;
class PanelMaximaOp;
class RopeAppendOp;
class RopeTableOp;
class RouteOp;
class RowwiseOp;
class StoreOp;
} // namespace ingot::kernel

namespace ingot::reference::machine {

/// What all launches of a program share.
struct Machine {
  Machine(WeightProvider &provider, MachineOptions options)
      : provider(provider), options(std::move(options)) {}

  WeightProvider &provider;
  MachineOptions options;
  bool gpu = false;
  Timeline timeline;
  Findings findings;
  std::unique_ptr<Memory> memory;
  std::unique_ptr<PoolMemory> pools;
  std::map<std::string, mlir::Operation *> weights; ///< of the plan: lm.weights that stand nowhere
  /// Without rounding: the numbers of rows that are not f32, by where the row lies.
  std::map<const std::byte *, std::vector<float>> exact;
  std::vector<Written> trace;
};

class Launch {
public:
  Launch(Machine &machine, plan::LaunchOp op, plan::StepOp planStep, const Batch &batch,
         const std::vector<int32_t> &ids, plan::Mode mode)
      : machine(machine), batch(batch), ids(ids), mode(mode), op(op), planStep(planStep),
        anchor(mlir::cast<kernel::LaunchInterface>(op.anchor())),
        effects(machine.options.effects ? machine.options.effects(op) : op.operandEffects()) {}

  /// Units of work: tokens, or logits rows.
  int64_t units(bool perRow) const {
    return int64_t(perRow ? batch.logitsRows.size() : batch.positions.size());
  }
  /// The numbers of a row of activations.
  std::vector<float> read(mlir::Value operand, int64_t row, Items items);
  void write(mlir::Value operand, int64_t row, std::span<const float> values, Items items);
  /// The bytes of a row that holds no numbers, read and written as declared.
  std::byte *bytes(mlir::Value operand, int64_t row, Items items, bool reads, bool writes);
  /// Bytes from `at` on of a buffer that holds routes.
  std::byte *part(mlir::Value routes, int64_t at, int64_t bytes, bool reads, bool writes);
  /// What such a buffer says, once its rows are grouped.
  Routes routes(mlir::Value operand);
  /// All of a workspace, which kernels that share it keep in order themselves.
  void touchWorkspace(mlir::Value operand);

  lm::WeightOp weight(mlir::Value operand) const;
  Result<std::vector<float>> vector(mlir::Value operand) const;
  Result<Matrix> multiply(const Matrix &x, mlir::Value weight, int64_t matrix = 0) const;
  /// The number of the state that is passed.
  int64_t state(mlir::Value operand, bool reads, bool writes);
  /// What an op of the kernel hands to others: values of each unit; the first is the first of that panel of the launch.
  void hand(mlir::Value flow, Matrix values, int64_t firstPanel = 0);
  int64_t firstPanelOf(mlir::Value flow) const { return flows.find(flow)->second.firstPanel; }
  // Which work items touch what an op has to do with. Those of an anchor are its own to say; its producers are computed by
  // all that read their rows, and what its consumers raise together counts as one item's.
  Items itemOf(mlir::Operation *op, int64_t unit);
  Items readersOf(mlir::Operation *op, int64_t unit);
  /// Of a launch over panels: a panel of 32 f32 values is one work item, rows in another form count as everybody's.
  Items panelsOf(mlir::Value rows, int64_t firstPanel);
  bool isAlone(); ///< it has one work item
  bool isPerRow() { return anchor.isPerRow(); }

  /// An element operand of a region: a row, or a vector that all rows share, or all rows of an expert.
  Result<std::vector<float>> element(mlir::Value operand, int64_t row, Items items,
                                     int64_t expert = 0);

  Machine &machine;
  const Batch &batch;
  const std::vector<int32_t> &ids;
  const plan::Mode mode;

private:
  int64_t numberOf(mlir::Value operand) const {
    return mlir::cast<mlir::BlockArgument>(operand).getArgNumber();
  }
  bool declares(mlir::Value operand, bool reads, bool writes);

  struct Flow {
    Matrix values;
    int64_t firstPanel;
  };
  llvm::DenseMap<mlir::Value, Flow> flows; ///< values that reach no memory
  mutable plan::LaunchOp op;               // ops are handles: nothing of them is const
  mutable plan::StepOp planStep;
  kernel::LaunchInterface anchor; ///< of the kernel
  llvm::SmallVector<kernel::OperandEffect> effects;
};

// The families. Each runs an op of a launch.
Result<void> run(Launch &launch, kernel::MatmulOp op);
Result<void> run(Launch &launch, kernel::RowwiseOp op);
Result<void> run(Launch &launch, kernel::GatherOp op);
Result<void> run(Launch &launch, kernel::Fp8RowsOp op);
Result<void> run(Launch &launch, kernel::RopeTableOp op);
Result<void> run(Launch &launch, kernel::RopeAppendOp op);
Result<void> run(Launch &launch, kernel::AttentionOp op);
Result<void> run(Launch &launch, kernel::CausalConvOp op);
Result<void> run(Launch &launch, kernel::CustomOp op);
Result<void> run(Launch &launch, kernel::RouteOp op);
Result<void> run(Launch &launch, kernel::GroupRoutesOp op);
Result<void> run(Launch &launch, kernel::CombineOp op);
Result<void> run(Launch &launch, kernel::StoreOp op);
Result<void> run(Launch &launch, kernel::PanelMaximaOp op);
Result<void> run(Launch &launch, kernel::ArgmaxOp op);
Result<void> run(Launch &launch, kernel::ArgmaxFinishOp op);
Result<void> run(Launch &launch, kernel::DrawWeighOp op);
Result<void> run(Launch &launch, kernel::DrawIdsOp op);

/// Rotates the heads of a row by a row of the table: cosines, then sines.
void rotate(std::span<float> row, int64_t headDim, std::span<const float> table,
            lm::RopeStyle style);
/// Raises the key of a row to the largest of its logits.
void raiseKey(std::byte *key, std::span<const float> logits);

} // namespace ingot::reference::machine
