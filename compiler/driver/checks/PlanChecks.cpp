//===- PlanChecks.cpp - See PlanChecks.h ----------------------------------===//
#include "compiler/driver/checks/PlanChecks.h"
#include "compiler/driver/checks/MiscompileReducer.h"
#include "compiler/extend/PatternFile.h"
#include "dialects/kernel/ops/Dispatch.h"
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"

#include "compiler/reference/interpreter/CheckPlan.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
namespace interpreter = ingot::reference::interpreter;

/// Passes may also run over single kernels or programs.
static ModuleOp moduleOf(Operation *op) {
  return isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
}

/// Returns whether kernels are selected, but are not yet functions of a program.
static bool isBeingLowered(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isa<kernel::DispatchOp, plan::DispatchOp>(op) ? WalkResult::interrupt()
                                                             : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Adds the passes that finish the lowering of such a module. Each value gets a buffer of its own, so that kernels are
/// checked as they were selected.
static void addRestOfLowering(OpPassManager &passes, ModuleOp module) {
  if (module.getOps<plan::ProgramOp>().empty())
    passes.addPass(createPlacePass({/*inPlace=*/false}));
  passes.addPass(createOutlinePass());
}

void LoweredPlan::runAfterPass(Pass *pass, Operation *op) {
  ModuleOp module = moduleOf(op);
  if (!lowered && !pass->getArgument().empty() && !module.getOps<plan::ProgramOp>().empty() &&
      !isBeingLowered(module))
    lowered = module.clone();
}

/// Runs all checks of a plan, against the model and against the freshly lowered plan.
static Result<void> check(ModuleOp model, ModuleOp lowered, ModuleOp plan,
                          reference::WeightProvider &weights, interpreter::PlanEvidence &evidence,
                          const interpreter::CheckOptions &options = {}) {
  if (auto done = interpreter::checkLowering(model, plan, weights, evidence, options); !done)
    return done;
  if (auto done = interpreter::checkCases(plan, weights, evidence, options); !done)
    return done;
  return plan == lowered ? Result<void>() : interpreter::checkPlanning(lowered, plan, weights);
}

namespace {
/// The first pass after which the plan is wrong.
struct WrongPass {
  std::string name, text; ///< the pass's argument, without and with its options
  std::string pipeline;   ///< the passes from `before` to `after`, over the module
  OwningOpRef<ModuleOp> before, after;
};

static bool findsIds(ModuleOp plan) {
  plan::EntryOp entry = (*plan.getOps<plan::ProgramOp>().begin()).generateEntry();
  return entry && entry.outputOf(plan::OutputRole::Ids);
}

/// Checks the plan against the model after every pass until a plan is wrong. `withIds` means that the finished
/// plan finds tokens. Until plan-find-ids has run, some steps leave none.
class WrongPassSearch : public PassInstrumentation {
public:
  WrongPassSearch(ModuleOp model, reference::WeightProvider &weights, bool withIds,
                  std::optional<WrongPass> &found)
      : model(model), weights(weights), withIds(withIds), found(found) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    ModuleOp module = moduleOf(op);
    if (found || !module || pass->getArgument().empty() || isBeingLowered(module))
      return;
    before = module.clone();
    pipeline.clear();
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    ModuleOp module = moduleOf(op);
    if (found || !module || pass->getArgument().empty())
      return;
    if (!pipeline.empty())
      pipeline += ",";
    pipeline += isa<ModuleOp>(op) ? asText(pass)
                                  : op->getName().getStringRef().str() + "(" + asText(pass) + ")";
    const bool beingLowered = isBeingLowered(module);
    if (!beingLowered && module.getOps<plan::ProgramOp>().empty())
      return;
    OwningOpRef<ModuleOp> plan = module.clone();
    std::string run = pipeline;
    if (beingLowered) {
      PassManager passes(module.getContext());
      addRestOfLowering(passes, module);
      for (Pass &rest : passes)
        run += "," + asText(&rest);
      if (failed(passes.run(*plan)))
        return;
    }
    interpreter::PlanEvidence ignored;
    interpreter::CheckOptions options;
    options.idsToCome = withIds && !findsIds(*plan);
    auto done = check(model, lowered ? *lowered : *plan, *plan, weights, ignored, options);
    if (!done && !interpreter::isNotInterpreted(done.error()))
      found = {pass->getArgument().str(), asText(pass), run, std::move(before), plan->clone()};
    if (!lowered && !beingLowered)
      lowered = std::move(plan);
  }

private:
  ModuleOp model;
  reference::WeightProvider &weights;
  const bool withIds;
  std::optional<WrongPass> &found;
  OwningOpRef<ModuleOp> lowered, before; ///< `before` the passes of `pipeline`
  std::string pipeline;
};
} // namespace

/// Returns the evidence for the error that the encodings of activations and caches cause. This error is expected and
/// has no limit.
static PassEvidence costOf(const std::string &device, const reference::Comparison &cost,
                           const std::string &weights) {
  return {"rows and caches of " + device,
          std::to_string(cost.layers) + " layers, " + weights + "; measured, not judged",
          cost.maxAbsolute, cost.maxRelative};
}

/// Adds the cause to the error. `wrong` is absent if the passes produce a correct plan when they run again.
static Error blame(Error error, std::optional<WrongPass> &wrong, const llvm::StringSet<> &users,
                   const std::string &replayCommand) {
  if (!wrong) {
    error.why =
        "the passes do not reproduce the error, so one of them is not deterministic: " + error.why;
    error.fix = users.empty()
                    ? "this is a bug in ingot: please report it with the checkpoint's config"
                    : "try without --insert; if the error remains, it is a bug in ingot";
    return error;
  }
  const bool theirs = users.contains(wrong->name);
  std::string left;
  if (wrong->before)
    left = reduceWrongPlan(theirs ? errors::kInsertedPassChangesModel : error.code, *wrong->before,
                           *wrong->after, wrong->pipeline, replayCommand);
  if (left.empty())
    left = "inspect its output with --dump-after " + wrong->name;
  if (theirs)
    return {
        ExitCode::File, errors::kInsertedPassChangesModel,
        "the pass " + wrong->text +
            (wrong->name == extend::applyKernelPatternsName() ? " of --patterns" : " of --insert") +
            " changes what the model computes",
        error.what + ": " + error.why, "correct the pass, or omit it; " + left};
  error.why = "after pass " + wrong->name + ": " + error.why;
  error.fix = llvm::is_contained(optionalPasses(), wrong->name)
                  ? "compile with --disable " + wrong->name + ", and please report it"
                  : "this is a bug in ingot: please report it with the checkpoint's config";
  error.fix += "; " + left;
  return error;
}

Result<PlanVerdict> compiler::checkPlan(ModuleOp model, ModuleOp lowered, ModuleOp plan,
                                        RunAgain runAgain, const llvm::StringSet<> &users,
                                        const std::string &device,
                                        std::vector<PassEvidence> &evidence,
                                        const std::string &replayCommand) {
  reference::SeededWeights weights;
  interpreter::PlanEvidence found;
  if (auto done = check(model, lowered, plan, weights, found); !done) {
    if (interpreter::isNotInterpreted(done.error()))
      return PlanVerdict{"", done.error().what};
    std::optional<WrongPass> wrong;
    OwningOpRef<ModuleOp> copy = model.clone();
    runAgain(*copy, std::make_unique<WrongPassSearch>(model, weights, findsIds(plan), wrong));
    return blame(done.error(), wrong, users, replayCommand);
  }
  evidence.push_back(judged("plan of " + device, found.wiring, "seeded weights, unrounded rows"));
  evidence.push_back(costOf(device, found.rounding, "seeded weights"));
  return PlanVerdict{std::to_string(found.launches) + " launches checked", ""};
}

Result<PlanVerdict> compiler::checkPlanAlone(ModuleOp lowered, ModuleOp plan) {
  reference::SeededWeights weights;
  interpreter::PlanEvidence found;
  auto done = interpreter::checkCases(plan, weights, found);
  if (done && lowered)
    done = interpreter::checkPlanning(lowered, plan, weights);
  if (!done && interpreter::isNotInterpreted(done.error()))
    return PlanVerdict{"", done.error().what};
  if (!done) {
    Error error = done.error();
    error.exit = ExitCode::File;
    error.fix = "correct the IR of --from";
    return error;
  }
  return PlanVerdict{std::to_string(found.launches) + " launches checked, against no model", ""};
}

Result<void> compiler::checkKvElements(ModuleOp module) {
  plan::ProgramOp program = *module.getOps<plan::ProgramOp>().begin();
  for (plan::StateOp state : program.getBody().getOps<plan::StateOp>()) {
    auto pool = dyn_cast<kernel::KvPoolType>(state.memoryType());
    if (!pool)
      continue;
    const KvFormatInfo &format = pool.info();
    if (pool.getHeadDim() % format.step != 0)
      return Error{ExitCode::Usage, "E0467",
                   "a KV cache of " + std::string(format.name) + " does not fit this model",
                   "its heads have " + std::to_string(pool.getHeadDim()) +
                       " elements, not a multiple of " + std::to_string(format.step),
                   "--kv f16"};
  }
  return {};
}

Result<void> compiler::verifyPlanOnWeights(ModuleOp model, ModuleOp plan,
                                           const import::Checkpoint &checkpoint,
                                           const std::string &device,
                                           std::vector<PassEvidence> &evidence) {
  reference::CheckpointWeights weights(checkpoint, reference::Rounding::AsStored);
  interpreter::PlanEvidence found;
  if (auto done = interpreter::checkLowering(model, plan, weights, found); !done) {
    if (interpreter::isNotInterpreted(done.error()))
      return {};
    Error error = done.error();
    error.fix = "this is a bug in ingot: please report it with the checkpoint's config";
    return error;
  }
  evidence.push_back(
      judged("plan of " + device, found.wiring, "the checkpoint's weights, unrounded rows"));
  evidence.push_back(costOf(device, found.rounding, "the checkpoint's weights"));
  return {};
}
