//===- SlowMachine.h - Runs a plan, slowly and plainly ----------------------===//
//
// The meaning of kernel and plan, with no regard for speed: launch after launch over arenas whose buffers lie where
// packing put them, every op in f32 or f64, rounded where memory is written. No code of it is a generator's.
// What a launch touches is observed (Memory.h) and held against what its op declares.
//
//   auto machine = SlowMachine::create(module, weights, {.tokens = 16, .rows = 4});
//   auto found = (*machine)->step({.ids = {1, 2, 3}, …}, plan::Mode::Logits);
//
// A step ends at the first thing that is wrong, with an error that names the launch and the buffer:
//
//   E0880  an access that the op does not declare          E0881  no barrier between two launches, or work items
//   E0882  bytes that nobody wrote, or another buffer's
//   E0888  keys or sums that are not 0 behind a step        E0889  an op that the machine does not know
//   E0457  a value that is no number
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Interpreter.h"
#include "compiler/reference/machine/PoolMemory.h"
#include "dialects/kernel/KernelDialect.h"

#include <functional>
#include <memory>

namespace ingot::plan {
class LaunchOp;
class StepOp;
} // namespace ingot::plan

namespace ingot::reference::machine {

/// What a launch's kernel declares of its operands.
using Effects = std::function<llvm::SmallVector<kernel::OperandEffect>(plan::LaunchOp)>;

/// Sees a launch before and behind the machine's own run of it, with the arenas as they are then.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  virtual void before(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
                      Memory &memory) = 0;
  virtual void behind(plan::LaunchOp launch, plan::StepOp step, const Batch &batch, plan::Mode mode,
                      Memory &memory) = 0;
};

struct MachineOptions {
  int64_t tokens = 16, rows = 8; ///< most of a step
  /// Without it rows and pools keep f32 whatever their form is: what is left is what launches are wired to compute.
  bool rounds = true;
  /// Layers whose steps run, by their number; empty: all.
  std::vector<int64_t> layers;
  /// The numbers of states, by symbol, where they are not those of their order in the plan: a past is made up of them.
  std::map<std::string, int64_t> states;
  bool keepsRows = false; ///< rows that launches write, tables apart, stay in their trace
  Effects effects;        ///< empty: those that its ops declare
  LaunchObserver *observer = nullptr; ///< outlives the machine
};

/// What one launch wrote, to be held against another program's.
struct Written {
  std::string launch; ///< "@norm_0 of layer 3"
  uint64_t numbers;   ///< a hash of them, in the order in which they were written
  std::map<int64_t, std::vector<std::vector<float>>> rows =
      {}; ///< by operand, if the machine keeps them
};

/// What a step leaves for the host.
struct StepResult {
  Matrix logits;            ///< mode logits
  std::vector<int32_t> ids; ///< modes greedy and drawn
};

class SlowMachine {
public:
  /// The module holds kernels and one plan.program (E0883 otherwise); module and weights must outlive the machine.
  static Result<std::unique_ptr<SlowMachine>> create(mlir::ModuleOp module, WeightProvider &weights,
                                                     MachineOptions options = {});
  virtual ~SlowMachine() = default;

  /// As KvState::pretendPast, before the first step.
  virtual void pretendPast(int64_t sequence, int64_t length, uint64_t seed) = 0;
  /// Runs the entry "generate" in a mode that it has. Cases are those of a step of `asIf` tokens and logits rows, where
  /// it has fewer: as the graph of a larger step would run it.
  virtual Result<StepResult> step(const Step &step, plan::Mode mode, int64_t asIf = 1) = 0;
  /// Launches so far.
  virtual int64_t launches() const = 0;
  /// The launches of all steps so far.
  virtual const std::vector<Written> &trace() const = 0;
};

/// The id that the machine draws from a row of logits: of no sampler, but of these logits alone.
int32_t drawnId(std::span<const float> logits, int64_t position);

} // namespace ingot::reference::machine
