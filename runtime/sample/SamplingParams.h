//===- SamplingParams.h - How the next token of one request is chosen -----===//
//
// The filters are applied in the same order as in HF transformers, so that settings mean the same:
//
//   logits + bias -> repetition penalty -> presence, frequency penalties
//          -> / temperature -> top-k -> top-p -> min-p -> typical -> sample
//
// A temperature of 0 is greedy. It chooses the largest logit after bias and penalties, and the lowest id among
// equals. The filters and the seed then have no effect.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/error/Error.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ingot::runtime {

constexpr int32_t kMaxTopLogprobs = 20;

struct SamplingParams {
  float temperature = 0.0f; ///< 0: greedy
  int32_t topK = 0;         ///< keep the k most likely; 0, -1: all
  float topP = 1.0f; ///< keep the fewest tokens that together have a probability of topP or more
  float minP = 0.0f; ///< drop tokens less likely than minP times the most likely one
  float typicalP = 1.0f;          ///< locally typical sampling (Meister et al. 2022); 1: off
  float repetitionPenalty = 1.0f; ///< for tokens of prompt and output (CTRL, Keskar et al. 2019)
  float presencePenalty = 0.0f;   ///< subtracted once from the logit of each token in the output
  float frequencyPenalty = 0.0f;  ///< subtracted for each occurrence of a token in the output
  int32_t penaltyWindow = -1;     ///< penalties consider only this many of the last tokens; -1: all
  std::vector<std::pair<int32_t, float>> logitBias; ///< added to the logit of a token
  uint64_t seed = 0;
  uint32_t choice = 0; ///< index among the answers to one prompt (`n`)
  /// Which log-probabilities are returned. -1: none; 0: of the chosen token; k: also of the k most likely tokens.
  int32_t topLogprobs = -1;

  bool greedy() const { return temperature == 0.0f; }
  /// Returns whether only a token is requested, and the unmodified logits determine it. The device can sample such a
  /// token (rowSampling).
  bool drawnFromLogits() const {
    return (greedy() || typicalP == 1.0f) && !needsHistory() && logitBias.empty() &&
           topLogprobs < 0;
  }
  bool needsHistory() const {
    return repetitionPenalty != 1.0f || presencePenalty != 0.0f || frequencyPenalty != 0.0f;
  }
  /// Fails with E0510 for the first value out of range. The error states the allowed range.
  Result<void> check(int64_t vocab) const;
};

/// Returns temperature, top-k, top-p and min-p in the form that sampling uses, on the host and on devices.
RowSampling rowSampling(const SamplingParams &params);

/// A token and its natural log-probability under the model's own distribution
/// (before bias, penalties, temperature and filters).
struct TokenLogprob {
  int32_t id;
  float logprob;
};

/// The model's score of a prompt token.
struct PromptScore {
  int32_t rank = 0;                   ///< 1: the token is the most likely one
  std::vector<TokenLogprob> logprobs; ///< of the token, then of the most likely tokens
};

} // namespace ingot::runtime
