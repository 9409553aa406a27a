//===- CheckPass.cpp - The plan interpreter in ingot-opt --------------------===//
#include "compiler/reference/interpreter/CheckPlan.h"
#include "dialects/plan/ops/Program.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::reference::interpreter;

namespace {

struct CheckPlanPass : PassWrapper<CheckPlanPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckPlanPass)
  CheckPlanPass() = default;
  CheckPlanPass(const CheckPlanPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "check-plan"; }
  StringRef getDescription() const override {
    return "run the plan in the plan interpreter and report its findings as errors";
  }
  Option<std::string> against{*this, "against",
                              llvm::cl::desc("a file with the model in lm, or with a plan before")};

  void runOnOperation() override {
    reference::SeededWeights weights;
    PlanEvidence evidence;
    Result<void> done = check(weights, evidence);
    if (done) {
      mlir::emitRemark(getOperation().getLoc(), "computes the same: ")
          << evidence.launches << " launches in modes " << llvm::join(evidence.modes, ", ");
      return;
    }
    if (isNotInterpreted(done.error())) {
      mlir::emitRemark(getOperation().getLoc(), done.error().what);
      return;
    }
    mlir::emitError(getOperation().getLoc(), done.error().format());
    signalPassFailure();
  }

private:
  Result<void> check(reference::WeightProvider &weights, PlanEvidence &evidence) {
    if (!against.empty()) {
      auto other = parseSourceFile<ModuleOp>(against, &getContext());
      if (!other)
        return Error{ExitCode::File, "E0891", "cannot read " + against, "", ""};
      auto done = other->getOps<plan::ProgramOp>().empty()
                      ? checkLowering(*other, getOperation(), weights, evidence)
                      : checkPlanning(*other, getOperation(), weights);
      if (!done)
        return done;
    }
    return checkCases(getOperation(), weights, evidence);
  }
};

} // namespace

void ingot::reference::interpreter::registerCheckPlanPass() { PassRegistration<CheckPlanPass>(); }
