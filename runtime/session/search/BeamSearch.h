//===- BeamSearch.h - The answers that are likeliest as a whole -------------===//
//
// The search takes the 2 * width candidates with the largest sums of log-probabilities among the
// next ids of all beams (with s ids that end an answer, (1 + s) * width). Candidates that end an
// answer are set aside with the score sum / length^penalty, where the length includes the ending
// id, and the first `width` of the others continue. An ending candidate beyond the first `width` is
// discarded: that many others are ahead of it.
//
//   beams      a  b                          set aside: "a." -0.31   "ab." -0.40
//   next ids   ax ab bx a. by bb b. aa        (the best `width` so far)
//              -> ax ab
//
// This matches Hugging Face transformers (generation/utils.py, _beam_search). The search ends when
// `width` answers are set aside and the rule of EarlyStopping is met, or at the maximum number of
// tokens, where the running beams are set aside too. Sums are doubles; ties go to the earlier beam,
// then to the lower id. Answers are delivered at the end, best first, since none is certain before.
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
