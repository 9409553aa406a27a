//===- ContrastiveSearch.cpp - See ContrastiveSearch.h ---------------------===//
#include "runtime/session/search/ContrastiveSearch.h"

#include "runtime/sample/Softmax.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace ingot::runtime {

namespace {

/// Returns the dot product in double precision. The order of summation depends only on the size.
double dot(const float *a, const float *b, size_t size) {
  constexpr size_t kLanes = 8;
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += double(a[i + lane]) * double(b[i + lane]);
  for (; i < size; ++i)
    lanes[i % kLanes] += double(a[i]) * double(b[i]);
  double sum = 0;
  for (double lane : lanes)
    sum += lane;
  return sum;
}

void scaleToOne(std::span<float> state) {
  const double square = dot(state.data(), state.data(), state.size());
  const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  for (float &value : state)
    value = float(double(value) * scale);
}

} // namespace

ContrastiveSearch::ContrastiveSearch(const Surroundings &around, SequenceId first, Answer *answer,
                                     Request given, int64_t maxTokens,
                                     std::shared_ptr<const void> memory)
    : Search(around, first, {answer}, std::move(given), maxTokens), params(*request.contrastive),
      width(size_t(around.executor.hiddenSize())), reserved(std::move(memory)) {
  assert(width > 0 && "validate() refuses it on an engine that does not tell hidden states");
  states.reserve((request.promptIds.size() + size_t(maxTokens)) * width);
}

/// Stores the state of a token of the prompt, or of the last token of a sequence.
void ContrastiveSearch::sawRow(Member *member, int64_t index) {
  const bool candidate = member && !member->hypothesis->ids().empty();
  std::vector<float> &kept = candidate ? member->state : states;
  const size_t at = candidate ? 0 : states.size();
  assert((candidate || at + width <= states.capacity()) && "more states than it has reserved");
  kept.resize(at + width);
  around.executor.hiddenState(index, kept.data() + at);
  scaleToOne(std::span(kept).subspan(at));
}

double ContrastiveSearch::likeness(std::span<const float> state) const {
  assert(state.size() == width && states.size() % width == 0 && "states differ in width");
  double most = -std::numeric_limits<double>::infinity();
  for (size_t at = 0; at < states.size(); at += width)
    most = std::max(most, dot(states.data() + at, state.data(), width));
  return most;
}

void ContrastiveSearch::decide() {
  if (live.front().hypothesis->ids().empty()) // the prompt's own row
    return forkFrom(0);
  size_t best = 0;
  double bestScore = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < live.size(); ++i) { // the likeliest is first, so it wins ties
    const double score =
        (1 - params.alpha) * live[i].score - params.alpha * likeness(live[i].state);
    if (score > bestScore) {
      bestScore = score;
      best = i;
    }
  }
  const Member &chosen = live[best];
  deliver(*chosen.hypothesis, chosen.hypothesis->ids().size() - 1, *answers.front());
  if (over())
    return release();
  states.insert(states.end(), chosen.state.begin(), chosen.state.end());
  forkFrom(best);
}

/// Continues from one sequence with each of its likeliest tokens.
void ContrastiveSearch::forkFrom(size_t parent) {
  std::vector<Next> next;
  for (const RowRanking::Candidate &candidate : live[parent].next) {
    auto hypothesis = extended(live[parent], candidate);
    if (!hypothesis)
      return;
    next.push_back({parent, candidate.id, std::move(hypothesis),
                    expNonPositive(std::min(candidate.logprob, 0.0))});
  }
  goOn(std::move(next));
}

} // namespace ingot::runtime
