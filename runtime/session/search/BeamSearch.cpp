//===- BeamSearch.cpp - See BeamSearch.h -----------------------------------===//
#include "runtime/session/search/BeamSearch.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace ingot::runtime {

BeamSearch::BeamSearch(const Surroundings &around, SequenceId first, std::vector<Answer *> answers,
                       Request given, int64_t maxTokens)
    : Search(around, first, std::move(answers), std::move(given), maxTokens),
      params(*request.beams) {}

size_t BeamSearch::wanted() const {
  const size_t stops = std::max<size_t>(1, live.front().hypothesis->stopIds());
  return size_t(params.width) * (1 + stops);
}

double BeamSearch::scoreOf(double sum, int64_t length) const {
  assert(length >= 1 && "a hypothesis has at least one id");
  return sum / std::pow(double(length), params.lengthPenalty);
}

void BeamSearch::putAside(double score, std::unique_ptr<Hypothesis> hypothesis) {
  auto behind = std::ranges::find_if(finished, [&](const Finished &f) { return score > f.score; });
  finished.insert(behind, Finished{score, std::move(hypothesis)});
  if (finished.size() > size_t(params.width))
    finished.pop_back();
}

bool BeamSearch::enough(const std::vector<Next> &next, int64_t length) const {
  if (next.empty())
    return true;
  if (finished.size() < size_t(params.width))
    return false;
  if (params.earlyStopping == EarlyStopping::Yes)
    return true;
  // Sums only decrease. Dividing by the length that gives the largest score therefore yields an upper
  // bound.
  const bool canGrow = params.earlyStopping == EarlyStopping::Never && params.lengthPenalty > 0;
  return finished.back().score >= scoreOf(next.front().score, canGrow ? maxTokens : length);
}

void BeamSearch::decide() {
  struct Choice {
    size_t parent;
    const RowRanking::Candidate *candidate;
    double sum;
  };
  std::vector<Choice> choices;
  for (size_t i = 0; i < live.size(); ++i)
    for (const RowRanking::Candidate &candidate : live[i].next)
      choices.push_back({i, &candidate, live[i].score + candidate.logprob});
  std::ranges::sort(choices, [](const Choice &a, const Choice &b) {
    if (a.sum != b.sum)
      return a.sum > b.sum;
    return a.parent != b.parent ? a.parent < b.parent : a.candidate->id < b.candidate->id;
  });
  choices.resize(std::min(choices.size(), wanted()));

  const auto width = size_t(params.width);
  const auto length = int64_t(live.front().hypothesis->ids().size()) + 1;
  const bool last = length == maxTokens;
  assert(length <= maxTokens && "the search has gone on after its last id");
  std::vector<Next> next;
  for (size_t rank = 0; rank < choices.size() && next.size() < width; ++rank) {
    const Choice &choice = choices[rank];
    if (last && rank == width)
      break;
    auto hypothesis = extended(live[choice.parent], *choice.candidate);
    if (!hypothesis)
      return;
    if (!hypothesis->ended() && !last)
      next.push_back({choice.parent, choice.candidate->id, std::move(hypothesis), choice.sum});
    else if (rank < width)
      putAside(scoreOf(choice.sum, length), std::move(hypothesis));
  }
  if (enough(next, length))
    return giveOut();
  goOn(std::move(next));
}

void BeamSearch::giveOut() {
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i < finished.size())
      deliver(*finished[i].hypothesis, 0, *answers[i]);
    if (!answers[i]->finished()) // the grammar allows fewer answers than were requested
      answers[i]->end(FinishReason::Stop);
  }
  release();
}

} // namespace ingot::runtime
