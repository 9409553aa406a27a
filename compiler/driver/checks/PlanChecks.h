//===- PlanChecks.h - Checks of the plan ------------------------------------===//
//
// After lowering, the plan interpreter (compiler/reference/interpreter) takes over from the reference
// interpreter. The finished plan is checked against the model and against a copy of the freshly lowered plan.
// Only if a check fails are the passes in between examined: they run once more over the model, and the plan is
// checked after each pass.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/checks/PassChecks.h"
#include "compiler/import/checkpoint/Checkpoint.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace ingot::compiler {

/// Keeps a copy of the freshly lowered plan, after the first pass that leaves a plan.
class LoweredPlan : public mlir::PassInstrumentation {
public:
  explicit LoweredPlan(mlir::OwningOpRef<mlir::ModuleOp> &lowered) : lowered(lowered) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  mlir::OwningOpRef<mlir::ModuleOp> &lowered;
};

/// Runs the passes that made a plan once more over a copy of the model, with this instrumentation.
using RunAgain =
    llvm::function_ref<void(mlir::ModuleOp model, std::unique_ptr<mlir::PassInstrumentation>)>;

/// The result of the checks of a plan, in addition to their evidence.
struct PlanVerdict {
  std::string note;           ///< for the progress line
  std::string notInterpreted; ///< why the plan was not checked; empty: it was checked
};

/// Checks a plan. Errors: E0432 if a pass of --insert (`users`) caused the error, else the error of the plan
/// interpreter (E0880 to E0888) with the pass that caused it. The plans before and after that pass are then left as
/// files (MiscompileReducer.h). `device` is the device's name in the evidence, and `replayCommand` is ingot-opt with
/// the plugins.
Result<PlanVerdict> checkPlan(mlir::ModuleOp model, mlir::ModuleOp lowered, mlir::ModuleOp plan,
                              RunAgain runAgain, const llvm::StringSet<> &users,
                              const std::string &device, std::vector<PassEvidence> &evidence,
                              const std::string &replayCommand);

/// Checks a plan from --from, which has no model to be checked against. `lowered` is null if the IR was
/// already planned.
Result<PlanVerdict> checkPlanAlone(mlir::ModuleOp lowered, mlir::ModuleOp plan);

/// Checks that the caches fit the heads of the model. --kv was already checked; the IR of --from may have
/// other caches. Errors: E0467.
Result<void> checkKvElements(mlir::ModuleOp plan);

/// Checks the finished plan against the model with the checkpoint's own weights (--verify).
Result<void> verifyPlanOnWeights(mlir::ModuleOp model, mlir::ModuleOp plan,
                                 const import::Checkpoint &checkpoint, const std::string &device,
                                 std::vector<PassEvidence> &evidence);

} // namespace ingot::compiler
