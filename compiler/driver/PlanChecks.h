//===- PlanChecks.h - The plan is checked as well ---------------------------===//
//
// Behind the lowering the slow machine (compiler/reference/machine) takes over from the interpreter: the finished plan
// is held against the model and against the plan as it was lowered. Only if that fails are the passes between
// looked at, one by one: a program is kept after each.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/PassChecks.h"
#include "compiler/import/Checkpoint.h"

#include "mlir/IR/OwningOpRef.h"

namespace ingot::compiler {

/// The program after a pass.
struct PlanSnapshot {
  std::string pass, text; ///< its argument, and with its options
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Keeps a snapshot after every pass over modules, programs and kernels that leaves a plan.
class PlanSnapshots : public mlir::PassInstrumentation {
public:
  explicit PlanSnapshots(std::vector<PlanSnapshot> &snapshots) : snapshots(snapshots) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  std::vector<PlanSnapshot> &snapshots;
};

/// What the checks of a plan say beside their evidence.
struct PlanVerdict {
  std::string note;           ///< for the progress line
  std::string notInterpreted; ///< why nothing was checked; empty: all was
};

/// Checks the plan of the last snapshot: E0432 where a pass of --insert (`users`) is to blame, else the error of the
/// slow machine (E0880 to E0888) with the pass that brought it. `device` is a word for the evidence.
Result<PlanVerdict> checkPlan(mlir::ModuleOp model, std::vector<PlanSnapshot> &snapshots,
                              const llvm::StringSet<> &users, const std::string &device,
                              std::vector<PassEvidence> &evidence);

/// The same on the checkpoint's own numbers: the finished plan against the model (--verify).
Result<void> verifyPlanOnWeights(mlir::ModuleOp model, mlir::ModuleOp plan,
                                 const import::Checkpoint &checkpoint, const std::string &device,
                                 std::vector<PassEvidence> &evidence);

} // namespace ingot::compiler
