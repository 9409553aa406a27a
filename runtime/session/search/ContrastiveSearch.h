//===- ContrastiveSearch.h - Likely ids that do not repeat earlier text -----===//
//
// Each token takes a step in which the `topK` likeliest tokens run as separate sequences. The search chooses a token
// that is likely and has a hidden state that differs from all earlier hidden states (SearchParams.h):
//
//   … t  --+-- a     (1 - alpha) p(a) - alpha max cos(h_a, h_j)
//          +-- b     …                                            -> b stays: its row has been
//          +-- c     …                                               computed, with its own topK
//
// The search keeps the hidden state after the model's last norm for every token of prompt and answer,
// scaled to length 1. The prompt's states come with its rows (SequenceOptions::everyPosition). No page
// of the prompt may come from the prefix cache, because cached pages have no hidden states.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/search/Search.h"

namespace ingot::runtime {

class ContrastiveSearch final : public Search {
public:
  /// `memory`: a reservation of stateBytes() for the hidden states.
  ContrastiveSearch(const Surroundings &around, SequenceId first, Answer *answer, Request request,
                    int64_t maxTokens, std::shared_ptr<const void> memory);

  /// Returns the maximum number of bytes of the hidden states that a search keeps for prompt, answer and
  /// candidates.
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
  const size_t width;                         ///< number of values of a state
  const std::shared_ptr<const void> reserved; ///< the reservation of memory for `states`
  std::vector<float> states;                  ///< [tokens][width], each with length 1
};

} // namespace ingot::runtime
