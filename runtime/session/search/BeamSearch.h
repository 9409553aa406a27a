//===- BeamSearch.h - The answers that are likeliest as a whole -------------===//
//
// A candidate is a beam with one of its next tokens. Of the candidates of all beams, the search takes the
// 2 * width with the largest sums of log-probabilities, or (1 + s) * width if s tokens end an answer.
// Candidates that end an answer are set aside with the score sum / length^penalty, where the length
// includes the ending token. The first `width` of the others continue. An ending candidate is discarded
// if `width` other candidates are better.
//
//   beams      a  b                          set aside: "a." -0.31   "ab." -0.40
//   next ids   ax ab bx a. by bb b. aa        (the best `width` so far)
//              -> ax ab
//
// This matches Hugging Face transformers (generation/utils.py, _beam_search). The search ends when
// `width` answers are set aside and the rule of EarlyStopping is met. It also ends at the maximum
// number of tokens, and then sets the running beams aside as well. Sums are doubles. Ties go to the
// earlier beam, then to the lower id. Answers are delivered at the end, best first, since none is
// final before.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/search/Search.h"

namespace ingot::runtime {

class BeamSearch final : public Search {
public:
  BeamSearch(const Surroundings &around, SequenceId first, std::vector<Answer *> answers,
             Request request, int64_t maxTokens);

private:
  struct Finished {
    double score;
    std::unique_ptr<Hypothesis> hypothesis;
  };

  void decide() override;
  size_t wanted() const override;
  double scoreOf(double sum, int64_t length) const;
  void putAside(double score, std::unique_ptr<Hypothesis> hypothesis);
  bool enough(const std::vector<Next> &next, int64_t length) const;
  void giveOut();

  const BeamParams params;
  std::vector<Finished> finished; ///< best first, at most `width`
};

} // namespace ingot::runtime
