//===- SamplingParams.cpp - Ranges of the sampling values -----------------===//
#include "runtime/sample/SamplingParams.h"

#include "runtime/sample/SamplingFields.h"
#include "runtime/sample/Softmax.h"

#include <cmath>
#include <string>

namespace ingot::runtime {

RowSampling rowSampling(const SamplingParams &params) {
  RowSampling how{};
  if (params.greedy())
    return how;
  how.seed = params.seed;
  how.choice = params.choice;
  how.scale = 1.0 / double(params.temperature);
  how.least = params.minP > 0.0f ? logPositive(double(params.minP)) : kLeastExponent;
  how.topK = params.topK;
  how.topP = params.topP;
  return how;
}

Result<void> SamplingParams::check(int64_t vocab) const {
  for (const SamplingField &field : kSamplingFields)
    if (auto fine = field.check(*this, field.name); !fine)
      return fine;
  for (auto [id, bias] : logitBias) {
    if (id < 0 || id >= vocab)
      return Error{ExitCode::Usage, "E0504", "id outside the vocabulary",
                   "logit bias names id " + std::to_string(id) + ", the vocabulary has ids 0 to " +
                       std::to_string(vocab - 1),
                   "`ingot tokenize` prints the ids of a text"};
    if (std::isnan(bias))
      return Error{ExitCode::Usage, errors::kSamplingRange,
                   "sampling value out of range: logit_bias",
                   "logit_bias is nan, allowed: any number, or -inf to forbid an id",
                   "give logit_bias a value in that range"};
  }
  return {};
}

} // namespace ingot::runtime
