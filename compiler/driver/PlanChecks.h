//===- PlanChecks.h - The plan is checked as well ---------------------------===//
//
// Behind the lowering the slow machine (compiler/reference/machine) takes over from the interpreter: the finished plan
// is held against the model and against the plan as it was lowered, of which a copy is kept. Only if that fails are the
// passes between looked at: they run once more over the model, and the plan is held after each.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/PassChecks.h"
#include "compiler/import/Checkpoint.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace ingot::compiler {

/// Keeps the plan as it was lowered: behind the first pass that leaves one.
class LoweredPlan : public mlir::PassInstrumentation {
public:
  explicit LoweredPlan(mlir::OwningOpRef<mlir::ModuleOp> &lowered) : lowered(lowered) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  mlir::OwningOpRef<mlir::ModuleOp> &lowered;
};

/// Runs the passes that made a plan once more, over a copy of the model, under this instrumentation.
using RunAgain =
    llvm::function_ref<void(mlir::ModuleOp model, std::unique_ptr<mlir::PassInstrumentation>)>;

/// What the checks of a plan say beside their evidence.
struct PlanVerdict {
  std::string note;           ///< for the progress line
  std::string notInterpreted; ///< why nothing was checked; empty: all was
};

/// Checks a plan: E0432 where a pass of --insert (`users`) is to blame, else the error of the slow machine (E0880 to
/// E0888) with the pass that brought it, whose plans before and behind are left as files (WrongValue.h). `device` is a word
/// for the evidence, `replayCommand` ingot-opt with the plugins.
Result<PlanVerdict> checkPlan(mlir::ModuleOp model, mlir::ModuleOp lowered, mlir::ModuleOp plan,
                              RunAgain runAgain, const llvm::StringSet<> &users,
                              const std::string &device, std::vector<PassEvidence> &evidence,
                              const std::string &replayCommand);

/// The same of IR that --from brought: there is no model to hold it against. `lowered` is null where it was planned.
Result<PlanVerdict> checkPlanAlone(mlir::ModuleOp lowered, mlir::ModuleOp plan);

/// Whether caches fit the heads of the model: E0467. What --kv says was held against them before; IR of --from may say more.
Result<void> checkKvElements(mlir::ModuleOp plan);

/// The same on the checkpoint's own numbers: the finished plan against the model (--verify).
Result<void> verifyPlanOnWeights(mlir::ModuleOp model, mlir::ModuleOp plan,
                                 const import::Checkpoint &checkpoint, const std::string &device,
                                 std::vector<PassEvidence> &evidence);

} // namespace ingot::compiler
