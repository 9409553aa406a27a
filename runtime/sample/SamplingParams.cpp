//===- SamplingParams.cpp - Ranges of the sampling values -----------------===//
#include "runtime/sample/SamplingParams.h"

#include "runtime/sample/Softmax.h"

#include <cmath>
#include <string>

namespace ingot::runtime {

namespace {
Error outOfRange(const char *name, double value, const char *range) {
  return {ExitCode::Usage, "E0510", std::string("sampling value out of range: ") + name,
          std::string(name) + " is " + std::to_string(value) + ", allowed: " + range,
          std::string("give ") + name + " a value in that range"};
}
} // namespace

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
  // Written as !(in range) so that NaN is out of it.
  if (!(temperature >= 0.0f && temperature <= 1e6f))
    return outOfRange("temperature", temperature, "0 (greedy) to 1e6");
  if (!(topK >= 0))
    return outOfRange("top-k", topK, "0 (all) or more");
  if (!(topP >= 0.0f && topP <= 1.0f))
    return outOfRange("top-p", topP, "0 to 1");
  if (!(minP >= 0.0f && minP <= 1.0f))
    return outOfRange("min-p", minP, "0 to 1");
  if (!(typicalP > 0.0f && typicalP <= 1.0f))
    return outOfRange("typical-p", typicalP, "above 0, to 1");
  if (!(repetitionPenalty > 0.0f && repetitionPenalty <= 1e6f))
    return outOfRange("repetition-penalty", repetitionPenalty, "above 0, to 1e6");
  if (!(std::fabs(presencePenalty) <= 1e6f))
    return outOfRange("presence-penalty", presencePenalty, "-1e6 to 1e6");
  if (!(std::fabs(frequencyPenalty) <= 1e6f))
    return outOfRange("frequency-penalty", frequencyPenalty, "-1e6 to 1e6");
  if (!(penaltyWindow >= -1))
    return outOfRange("penalty-window", penaltyWindow, "-1 (all) or more");
  if (topLogprobs < -1 || topLogprobs > kMaxTopLogprobs)
    return outOfRange("logprobs", topLogprobs, "0 to 20");
  for (auto [id, bias] : logitBias) {
    if (id < 0 || id >= vocab)
      return Error{ExitCode::Usage, "E0504", "id outside the vocabulary",
                   "logit bias names id " + std::to_string(id) + ", the vocabulary has ids 0 to " +
                       std::to_string(vocab - 1),
                   "`ingot tokenize` prints the ids of a text"};
    if (std::isnan(bias))
      return outOfRange("logit-bias", bias, "any number, or -inf to forbid an id");
  }
  return {};
}

} // namespace ingot::runtime
