//===- Launch.h - One launch of the plan interpreter ------------------------===//
//
// Class Launch gives the op families (MatmulLaunch.cpp and its neighbours) access to a launch: the rows of its
// operands, its weights and the batch. It checks every access against the effects that the op declares.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Routes.h"
#include "compiler/reference/interpreter/PlanInterpreter.h"
#include "compiler/reference/interpreter/RowEncodings.h"
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

namespace ingot::reference::interpreter {

/// State shared by all launches of a program.
struct InterpreterState {
  InterpreterState(WeightProvider &provider, InterpreterOptions options)
      : provider(provider), options(std::move(options)) {}

  WeightProvider &provider;
  InterpreterOptions options;
  bool gpu = false;
  Timeline timeline;
  Findings findings;
  std::unique_ptr<Memory> memory;
  std::unique_ptr<PoolMemory> pools;
  std::map<std::string, mlir::Operation *> weights; ///< weights of the plan, as detached lm.weight
                                                    ///< ops
  /// The unrounded values of rows that are not f32, by the address of the row. It is used only without rounding.
  std::map<const std::byte *, std::vector<float>> exact;
  std::vector<Written> trace;
};

class Launch {
public:
  Launch(InterpreterState &interpreter, plan::LaunchOp op, plan::StepOp planStep,
         const Batch &batch, const std::vector<int32_t> &ids, plan::Mode mode)
      : interpreter(interpreter), batch(batch), ids(ids), mode(mode), op(op), planStep(planStep),
        anchor(mlir::cast<kernel::LaunchInterface>(op.anchor())),
        effects(interpreter.options.effects ? interpreter.options.effects(op)
                                            : op.operandEffects()) {}

  /// Returns the number of units of work: logits rows if `perRow`, else tokens.
  int64_t units(bool perRow) const {
    return int64_t(perRow ? batch.logitsRows.size() : batch.positions.size());
  }
  /// Returns the values of a row of activations.
  std::vector<float> read(mlir::Value operand, int64_t row, Items items);
  void write(mlir::Value operand, int64_t row, std::span<const float> values, Items items);
  /// Returns the bytes of a row that does not hold numeric values, and records that the launch reads or writes the
  /// bytes.
  std::byte *bytes(mlir::Value operand, int64_t row, Items items, bool reads, bool writes);
  /// Returns the bytes from `at` on in a buffer that holds routes, and records that the launch reads or writes them.
  std::byte *part(mlir::Value routes, int64_t at, int64_t bytes, bool reads, bool writes);
  /// Returns the routes in such a buffer. Their rows must already be grouped.
  Routes routes(mlir::Value operand);
  /// Accesses the whole workspace; kernels that share it order their accesses themselves.
  void touchWorkspace(mlir::Value operand);

  lm::WeightOp weight(mlir::Value operand) const;
  Result<std::vector<float>> vector(mlir::Value operand) const;
  Result<Matrix> multiply(const Matrix &x, mlir::Value weight, int64_t matrix = 0) const;
  /// Returns the number of the passed state.
  int64_t state(mlir::Value operand, bool reads, bool writes);
  /// Passes values of an op to other ops of the kernel, one row per unit. The first value of a row belongs to panel
  /// `firstPanel` of the launch.
  void hand(mlir::Value fusedValue, Matrix values, int64_t firstPanel = 0);
  int64_t firstPanelOf(mlir::Value fusedValue) const {
    return fusedValues.find(fusedValue)->second.firstPanel;
  }
  // The work items that touch the operands of an op. If the op is the kernel's anchor, it is the work item of the unit.
  // An op before the anchor is computed by all work items that read its rows. The updates of an op after the anchor are
  // joint and count as one work item.
  Items itemOf(mlir::Operation *op, int64_t unit);
  Items consumersOf(mlir::Operation *op, int64_t unit);
  /// Returns the work items that touch rows of a launch over panels. Each panel of 32 f32 values is one work item. Rows
  /// in another encoding count as touched by every work item.
  Items panelsOf(mlir::Value rows, int64_t firstPanel);
  bool isAlone(); ///< whether the launch has only one work item
  bool isPerRow() { return anchor.isPerRow(); }

  /// An element operand of a region: a row, or a vector shared by all rows or by all rows of an expert.
  Result<std::vector<float>> element(mlir::Value operand, int64_t row, Items items,
                                     int64_t expert = 0);

  InterpreterState &interpreter;
  const Batch &batch;
  const std::vector<int32_t> &ids;
  const plan::Mode mode;

private:
  int64_t numberOf(mlir::Value operand) const {
    return mlir::cast<mlir::BlockArgument>(operand).getArgNumber();
  }
  bool declares(mlir::Value operand, bool reads, bool writes);

  struct FusedValue {
    Matrix values;
    int64_t firstPanel;
  };
  llvm::DenseMap<mlir::Value, FusedValue> fusedValues; ///< fused values, which never reach memory
  mutable plan::LaunchOp op; // ops are handles, so constness does not apply
  mutable plan::StepOp planStep;
  kernel::LaunchInterface anchor; ///< the anchor of the kernel
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
/// Raises the key of a row to the key of the largest of these logits.
void raiseKey(std::byte *key, std::span<const float> logits);

} // namespace ingot::reference::interpreter
