//===- PlanChecks.cpp - See PlanChecks.h ----------------------------------===//
#include "compiler/driver/PlanChecks.h"
#include "dialects/plan/ops/Program.h"

#include "compiler/reference/machine/CheckPlan.h"
#include "passes/Passes.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
namespace machine = ingot::reference::machine;

void PlanSnapshots::runAfterPass(Pass *pass, Operation *op) {
  ModuleOp module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (pass->getArgument().empty() || module.getOps<plan::ProgramOp>().empty())
    return;
  snapshots.push_back(
      {pass->getArgument().str(), asText(pass), OwningOpRef<ModuleOp>(module.clone())});
}

/// All checks of a plan, against the model and against the plan as it was lowered.
static Result<void> check(ModuleOp model, ModuleOp lowered, ModuleOp plan,
                          reference::WeightProvider &weights, machine::PlanEvidence &evidence) {
  if (auto done = machine::checkLowering(model, plan, weights, evidence); !done)
    return done;
  if (auto done = machine::checkCases(plan, weights, evidence); !done)
    return done;
  return plan == lowered ? Result<void>() : machine::checkPlanning(lowered, plan, weights);
}

/// The first pass behind which the plan is wrong.
static const PlanSnapshot &firstWrong(ModuleOp model, std::vector<PlanSnapshot> &snapshots,
                                      reference::WeightProvider &weights) {
  for (PlanSnapshot &snapshot : snapshots) {
    machine::PlanEvidence ignored;
    if (!check(model, *snapshots.front().module, *snapshot.module, weights, ignored))
      return snapshot;
  }
  return snapshots.back();
}

/// What forms of rows and caches cost, which is nobody's mistake.
static PassEvidence costOf(const std::string &device, const reference::Comparison &cost,
                           const std::string &weights) {
  return {"rows and caches of " + device,
          std::to_string(cost.layers) + " layers, " + weights + "; measured, not judged",
          cost.maxAbsolute, cost.maxRelative};
}

static Error blame(Error error, const PlanSnapshot &snapshot, const llvm::StringSet<> &users) {
  if (users.contains(snapshot.pass))
    return {ExitCode::File, "E0432",
            "the pass " + snapshot.text + " of --insert changes what the model computes",
            error.what + ": " + error.why,
            "see what it did with --dump-after " + snapshot.pass +
                "; correct the pass, or drop --insert"};
  error.why = "behind the pass " + snapshot.pass + ": " + error.why;
  error.fix = llvm::is_contained(optionalPasses(), snapshot.pass)
                  ? "compile with --disable " + snapshot.pass + ", and please report it"
                  : "this is a bug of ingot: please report it with the checkpoint's config";
  return error;
}

Result<PlanVerdict> compiler::checkPlan(ModuleOp model, std::vector<PlanSnapshot> &snapshots,
                                        const llvm::StringSet<> &users, const std::string &device,
                                        std::vector<PassEvidence> &evidence) {
  reference::SeededWeights weights;
  machine::PlanEvidence found;
  auto done = check(model, *snapshots.front().module, *snapshots.back().module, weights, found);
  if (!done) {
    if (machine::isNotInterpreted(done.error()))
      return PlanVerdict{"", done.error().what};
    return blame(done.error(), firstWrong(model, snapshots, weights), users);
  }
  evidence.push_back(judged("plan of " + device, found.wiring, "seeded weights, unrounded rows"));
  evidence.push_back(costOf(device, found.rounding, "seeded weights"));
  return PlanVerdict{std::to_string(found.launches) + " launches checked", ""};
}

Result<void> compiler::verifyPlanOnWeights(ModuleOp model, ModuleOp plan,
                                           const import::Checkpoint &checkpoint,
                                           const std::string &device,
                                           std::vector<PassEvidence> &evidence) {
  reference::CheckpointWeights weights(checkpoint, reference::Rounding::AsStored);
  machine::PlanEvidence found;
  if (auto done = machine::checkLowering(model, plan, weights, found); !done) {
    if (machine::isNotInterpreted(done.error()))
      return {};
    Error error = done.error();
    error.fix = "this is a bug of ingot: please report it with the checkpoint's config";
    return error;
  }
  evidence.push_back(
      judged("plan of " + device, found.wiring, "the checkpoint's weights, unrounded rows"));
  evidence.push_back(costOf(device, found.rounding, "the checkpoint's weights"));
  return {};
}
