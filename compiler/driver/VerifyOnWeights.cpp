//===- VerifyOnWeights.cpp - See VerifyOnWeights.h ------------------------===//
#include "compiler/driver/VerifyOnWeights.h"
#include "dialects/lm/ops/Weights.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

Result<std::optional<double>> compiler::verifyOnWeights(ModuleOp imported, ModuleOp fused,
                                                        const import::Checkpoint &checkpoint,
                                                        std::vector<PassEvidence> &evidence) {
  auto compare = [&](reference::Rounding rounding) {
    reference::CheckpointWeights weights(checkpoint, rounding);
    return reference::comparePrograms(imported, fused, weights);
  };
  auto change = compare(reference::Rounding::AsStored);
  if (!change)
    return change.error();
  evidence.push_back(judged("all passes over lm", *change, "the checkpoint's weights"));
  if (!(change->maxRelative <= kLargestRelativeError))
    return Error{ExitCode::Internal, "E0491", "the passes changed what the model computes",
                 evidence.back().inputs + "; largest relative error " +
                     std::to_string(change->maxRelative),
                 "please report it with the checkpoint's config"};
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
