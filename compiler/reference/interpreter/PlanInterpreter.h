//===- PlanInterpreter.h - The plan interpreter: simple and slow ----------===//
//
// The plan interpreter defines the meaning of kernel and plan, without regard for speed. It runs launch after launch
// over arenas, in which buffers are at the offsets that the planning passes chose. It computes every op in f32 or f64,
// and rounds when it writes memory. It shares no code with the code generators. The accesses of a launch are recorded
// (Memory.h) and checked against the effects that its op declares.
//
//   auto interpreter = PlanInterpreter::create(module, weights, {.tokens = 16, .rows = 4});
//   auto found = (*interpreter)->step({.ids = {1, 2, 3}, …}, plan::Mode::Logits);
//
// A step ends at the first error, which names the launch and the buffer:
//
//   E0880  an access that the op does not declare          E0881  no barrier between two launches, or work items
//   E0882  bytes that were never written, or belong to another buffer
//   E0888  keys or sums that are not 0 after a step         E0889  an unknown op
//   E0457  a value that is NaN or infinite
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Interpreter.h"
#include "compiler/reference/interpreter/PoolMemory.h"
#include "dialects/kernel/KernelDialect.h"

#include <functional>
#include <memory>

namespace ingot::plan {
class LaunchOp;
class StepOp;
} // namespace ingot::plan

namespace ingot::reference::interpreter {

/// The effects of a launch's kernel on its operands.
using Effects = std::function<llvm::SmallVector<kernel::OperandEffect>(plan::LaunchOp)>;

/// An observer that the plan interpreter calls before and after each launch, with the arenas at that time.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  virtual void before(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
                      Memory &memory) = 0;
  virtual void behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
                      Memory &memory) = 0;
};

struct InterpreterOptions {
  int64_t tokens = 16, rows = 8; ///< upper bounds for a step
  /// If false, rows and pools hold f32 values, whatever their encoding. The result then shows only whether launches are
  /// connected correctly.
  bool rounds = true;
  /// Indices of the layers that run; empty: all.
  std::vector<int64_t> layers;
  /// The index of each state, by symbol, if it differs from the state's index in the plan. A generated past depends on
  /// these indices.
  std::map<std::string, int64_t> states;
  bool keepsRows = false; ///< whether the trace keeps the rows that launches write, except tables
  Effects effects;        ///< empty: the effects that the kernels' ops declare
  LaunchObserver *observer = nullptr; ///< must outlive the interpreter
};

/// The output of one launch, for comparison with the same launch of another program.
struct Written {
  std::string launch; ///< "@norm_0 of layer 3"
  uint64_t numbers;   ///< a hash of the written values, in the order of writing
  std::map<int64_t, std::vector<std::vector<float>>> rows =
      {}; ///< by operand, if `keepsRows` is set
};

/// The output of a step for the host.
struct StepResult {
  Matrix logits;            ///< mode logits
  std::vector<int32_t> ids; ///< modes greedy and drawn
};

class PlanInterpreter {
public:
  /// The module holds kernels and one plan.program (E0892 otherwise); module and weights must outlive the
  /// interpreter.
  static Result<std::unique_ptr<PlanInterpreter>>
  create(mlir::ModuleOp module, WeightProvider &weights, InterpreterOptions options = {});
  virtual ~PlanInterpreter() = default;

  /// Does the same as KvState::pretendPast. It must be called before the first step.
  virtual void pretendPast(int64_t sequence, int64_t length, uint64_t seed) = 0;
  /// Runs the entry point "generate" in one of its modes. If the step has fewer than `asIf` tokens or logits rows,
  /// specialisations are chosen as for `asIf` of them. The CUDA graph of a larger step would run the step in this way.
  virtual Result<StepResult> step(const Step &step, plan::Mode mode, int64_t asIf = 1) = 0;
  /// Returns the number of launches so far.
  virtual int64_t launches() const = 0;
  /// Returns the launches of all steps so far.
  virtual const std::vector<Written> &trace() const = 0;
};

/// Returns the token that the plan interpreter samples from a row of logits. It depends only on the logits and the
/// position, but need not be the token that the runtime's sampler would choose.
int32_t drawnId(std::span<const float> logits, int64_t position);

} // namespace ingot::reference::interpreter
