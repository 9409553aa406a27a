//===- BeamSearch.h - The likeliest answers as a whole ----------------------===//
//
// Of all beams' next ids the 2 * width with the largest sums of log-probabilities; of those the
// ones that end an answer are put aside with sum / length^penalty, the length with the ending id,
// and the first `width` of the others go on (with s ids that end an answer there are (1 + s) *
// width). An ending beyond the first `width` is not worth keeping: as many others are ahead of it.
//
//   beams      a  b                          put aside: "a." -0.31   "ab." -0.40
//   next ids   ax ab bx a. by bb b. aa        (the best `width`, so far)
//              -> ax ab
//
// This is what Hugging Face transformers do (generation/utils.py, _beam_search): `width` of those
// put aside and the rule of EarlyStopping end it, or the most tokens, where whoever runs is put
// aside too. Sums are doubles; ties go to the earlier beam, then to the lower id. Answers are given
// out at the end, best first, since until then none is sure.
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
    std::unique_ptr<Hypothesis> said;
  };

  void decide() override;
  size_t wanted() const override;
  double scoreOf(double sum, int64_t length) const;
  void putAside(double score, std::unique_ptr<Hypothesis> said);
  bool enough(const std::vector<Next> &next, int64_t length) const;
  void giveOut();

  const BeamParams params;
  std::vector<Finished> finished; ///< best first, `width` at most
};

} // namespace ingot::runtime
