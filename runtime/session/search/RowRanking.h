//===- RowRanking.h - The likeliest ids of a row of logits -----------------===//
//
// What searches look at of a row: a few ids with their log-probabilities, from a softmax over all
// of the row in double. Ties go to the lower id; nothing depends on the machine.
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
    double logprob; ///< natural, of the row with its bias; never NaN
    float own;      ///< of the row as the model gave it
  };
  /// The `count` likeliest ids, likeliest first: fewer where others are not allowed or ruled out by
  /// -inf or NaN, one at least. Beside +inf all else has -inf. `bias` is added to the logits.
  /// `allowed`: a bit for each id; empty: all.
  std::vector<Candidate> best(const float *logits, size_t count,
                              std::span<const std::pair<int32_t, float>> bias,
                              std::span<const uint32_t> allowed);
  /// The `count` likeliest of the row as it is; what is ruled out comes last, lowest id first, so
  /// that there are always as many (or all of the vocabulary), as Sampler has it.
  std::vector<TokenLogprob> likeliest(const float *logits, size_t count);

private:
  void select(const float *logits, size_t count, std::span<const uint32_t> allowed);

  size_t vocab;
  std::vector<int32_t> chosen; ///< by select(), likeliest first
  std::vector<float> biased;
};

} // namespace ingot::runtime
