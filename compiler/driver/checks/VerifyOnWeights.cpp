//===- VerifyOnWeights.cpp - See VerifyOnWeights.h ------------------------===//
#include "compiler/driver/checks/VerifyOnWeights.h"
#include "compiler/driver/checks/MiscompileReducer.h"
#include "compiler/extend/PatternFile.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {
/// The first pass after which a model computes something else on these weights.
struct WrongOnWeights {
  std::string text;       ///< the pass's argument with its options, or the file of its patterns
  std::string code, left; ///< error code; place of the programs before and after the pass
};

class WrongOnWeightsSearch : public PassInstrumentation {
public:
  WrongOnWeightsSearch(ModuleOp imported, reference::WeightProvider &weights,
                       const llvm::StringSet<> &users, std::optional<WrongOnWeights> &found)
      : before(imported.clone()), weights(weights), users(users), found(found) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (found || !isa<lm::ModelOp>(op) || pass->getArgument().empty())
      return;
    auto module = op->getParentOfType<ModuleOp>();
    auto change = reference::comparePrograms(*before, module, weights);
    if (change && !(change->maxRelative <= kLargestRelativeError)) {
      const std::string code = codeOfChange(pass->getArgument(), users);
      found = {code == errors::kPatternChangesModel ? extend::patternsFile(pass) : asText(pass),
               code, leaveBoth(code, *before, module)};
    }
    before = module.clone();
  }

private:
  OwningOpRef<ModuleOp> before;
  reference::WeightProvider &weights;
  const llvm::StringSet<> &users;
  std::optional<WrongOnWeights> &found;
};
} // namespace

/// Returns the error for a pass that changes the result on these weights but is correct on generated weights. A
/// reproducer without weights therefore cannot show it.
static Error wrongOnWeights(const std::optional<WrongOnWeights> &pass, const std::string &why) {
  if (!pass)
    return {ExitCode::Internal, errors::kPassChangesModel,
            "the passes changed what the model computes", why,
            "please report it with the checkpoint's config"};
  const std::string left = pass->left.empty() ? "" : "; " + pass->left;
  if (pass->code == errors::kPatternChangesModel)
    return {ExitCode::File, pass->code, "a pattern changes what the model computes: " + pass->text,
            why, "correct the file" + left};
  if (pass->code == errors::kInsertedPassChangesModel)
    return {ExitCode::File, pass->code,
            "the pass " + pass->text + " of --insert changes what the model computes", why,
            "correct the pass, or omit it" + left};
  return {ExitCode::Internal, pass->code, "pass " + pass->text + " changed what the model computes",
          why, "please report it with the checkpoint's config" + left};
}

Result<std::optional<double>> compiler::verifyOnWeights(ModuleOp imported, ModuleOp fused,
                                                        const import::Checkpoint &checkpoint,
                                                        const llvm::StringSet<> &users,
                                                        RunAgain again,
                                                        std::vector<PassEvidence> &evidence) {
  auto compare = [&](reference::Rounding rounding) {
    reference::CheckpointWeights weights(checkpoint, rounding);
    return reference::comparePrograms(imported, fused, weights);
  };
  auto change = compare(reference::Rounding::AsStored);
  if (!change)
    return change.error();
  evidence.push_back(judged("all passes over lm", *change, "the checkpoint's weights"));
  if (!(change->maxRelative <= kLargestRelativeError)) {
    reference::CheckpointWeights weights(checkpoint, reference::Rounding::AsStored);
    std::optional<WrongOnWeights> pass;
    OwningOpRef<ModuleOp> copy = imported.clone();
    again(*copy, std::make_unique<WrongOnWeightsSearch>(imported, weights, users, pass));
    return wrongOnWeights(pass, evidence.back().inputs + "; largest relative error " +
                                    std::to_string(change->maxRelative) + "; first " +
                                    change->first);
  }
  bool rounds = false;
  fused.walk([&](lm::WeightOp weight) { rounds |= weight.getStored().has_value(); });
  if (!rounds)
    return std::optional<double>();
  auto cost = compare(reference::Rounding::ToFormat);
  if (!cost)
    return cost.error();
  evidence.push_back(measured("formats of weights", *cost, "the checkpoint's weights"));
  return std::optional(cost->maxRelative);
}
