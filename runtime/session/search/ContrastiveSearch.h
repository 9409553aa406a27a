//===- ContrastiveSearch.h - Likely ids that do not repeat earlier text -----===//
//
// Each token takes a step with the `topK` likeliest ids as separate sequences; the chosen one is
// likely, and its hidden state differs from all earlier ones (SearchParams.h):
//
//   … t  --+-- a     (1 - alpha) p(a) - alpha max cos(h_a, h_j)
//          +-- b     …                                            -> b stays: its row is there
//          +-- c     …                                               already, with its own topK
//
// States are those after the model's last norm, of every token of prompt and answer, stored here
// with length 1. Those of the prompt come with its rows (SequenceOptions::everyPosition), so no
// page of the prompt may come from the prefix cache: cached pages have no states.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/search/Search.h"

namespace ingot::runtime {

class ContrastiveSearch final : public Search {
public:
  /// `memory`: reserved for its hidden states, stateBytes().
  ContrastiveSearch(const Surroundings &around, SequenceId first, Answer *answer, Request request,
                    int64_t maxTokens, std::shared_ptr<const void> memory);

  /// Maximum number of bytes of the hidden states that it keeps: of prompt, answer and candidates.
  static uint64_t stateBytes(int64_t prompt, int64_t maxTokens, const ContrastiveParams &params,
                             int64_t hidden) {
    return uint64_t(prompt + maxTokens + params.topK) * uint64_t(hidden) * sizeof(float);
  }

private:
  void decide() override;
  size_t wanted() const override { return size_t(params.topK); }
  void sawRow(Member *member, int64_t index) override;
  void forkFrom(size_t parent);
  double likeness(std::span<const float> state) const;

  const ContrastiveParams params;
  const size_t width;                         ///< of a state
  const std::shared_ptr<const void> reserved; ///< for `states`
  std::vector<float> states;                  ///< [tokens][width], each with length 1
};

} // namespace ingot::runtime
