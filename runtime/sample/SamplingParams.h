//===- SamplingParams.h - How the next token of one request is chosen -----===//
//
// The filters are applied in this order (that of HF transformers, so that settings have the same meaning):
//
//   logits + bias -> repetition penalty -> presence, frequency penalties
//          -> / temperature -> top-k -> top-p -> min-p -> typical -> draw
//
// A temperature of 0 is greedy: the largest logit after bias and penalties, the lowest id among equals; the
// filters and the seed then have no effect.
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
  float temperature = 0.0f;       ///< 0: greedy
  int32_t topK = 0;               ///< keep the k most likely; 0, -1: all
  float topP = 1.0f;              ///< keep the fewest ids whose probabilities sum to topP or more
  float minP = 0.0f;              ///< drop ids less likely than minP times the most likely
  float typicalP = 1.0f;          ///< locally typical sampling (Meister et al. 2022); 1: off
  float repetitionPenalty = 1.0f; ///< on ids of prompt and output (CTRL, Keskar et al. 2019)
  float presencePenalty = 0.0f;   ///< subtracted once from ids of the output
  float frequencyPenalty = 0.0f;  ///< subtracted for each occurrence in the output
  int32_t penaltyWindow = -1;     ///< penalties consider only this many of the last ids; -1: all
  std::vector<std::pair<int32_t, float>> logitBias; ///< added to the logit of an id
  uint64_t seed = 0;
  uint32_t choice = 0; ///< index among the answers to one prompt (`n`)
  int32_t topLogprobs =
      -1; ///< -1: no log-probabilities; 0: of the chosen id; k: also of the k most likely ids

  bool greedy() const { return temperature == 0.0f; }
  /// Whether only an id is requested and the unmodified logits determine it: such ids can be drawn on the
  /// device (rowSampling).
  bool drawnFromLogits() const {
    return (greedy() || typicalP == 1.0f) && !needsHistory() && logitBias.empty() &&
           topLogprobs < 0;
  }
  bool needsHistory() const {
    return repetitionPenalty != 1.0f || presencePenalty != 0.0f || frequencyPenalty != 0.0f;
  }
  /// E0510, with the allowed range, for the first value out of range.
  Result<void> check(int64_t vocab) const;
};

/// Temperature, top-k, top-p and min-p in the representation of the draw, on the host and on devices.
RowSampling rowSampling(const SamplingParams &params);

/// An id and its natural log-probability under the model's own distribution
/// (before bias, penalties, temperature and filters).
struct TokenLogprob {
  int32_t id;
  float logprob;
};

/// The model's score of a prompt id.
struct PromptScore {
  int32_t rank = 0;                   ///< 1: the most likely
  std::vector<TokenLogprob> logprobs; ///< of the id, then of the most likely ids
};

} // namespace ingot::runtime
