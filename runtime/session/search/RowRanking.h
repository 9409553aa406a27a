//===- RowRanking.h - The likeliest ids of a row of logits -----------------===//
//
// Searches use only a part of a row: a few tokens with their log-probabilities, from a softmax over the
// whole row in double. Ties go to the lower id. The result does not depend on the machine.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sample/SamplingParams.h"

#include <span>
#include <vector>

namespace ingot::runtime {

class RowRanking {
public:
  explicit RowRanking(int64_t vocab) : vocab(size_t(vocab)) {}
  size_t size() const { return vocab; }

  struct Candidate {
    int32_t id;
    double logprob; ///< natural logarithm, computed from the row with its bias; never NaN
    float own;      ///< log-probability in the model's unmodified row
  };
  /// Returns the `count` likeliest tokens, likeliest first. There are fewer if other tokens are not allowed or
  /// are excluded by -inf or NaN, but always at least one. If a token has +inf, all others have -inf.
  /// `bias` is added to the logits. `allowed`: one bit per token; empty: all.
  std::vector<Candidate> best(const float *logits, size_t count,
                              std::span<const std::pair<int32_t, float>> bias,
                              std::span<const uint32_t> allowed);
  /// Returns the `count` likeliest tokens of the unmodified row. Tokens that are excluded by -inf or NaN come
  /// last, lowest id first, so that there are always `count` (or the whole vocabulary), as in Sampler.
  std::vector<TokenLogprob> likeliest(const float *logits, size_t count);

private:
  void select(const float *logits, size_t count, std::span<const uint32_t> allowed);

  size_t vocab;
  std::vector<int32_t> chosen; ///< the tokens that select() chose, likeliest first
  std::vector<float> biased;
};

} // namespace ingot::runtime
