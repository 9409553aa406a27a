//===- Reference.cpp - See Reference.h ---------------------------------------===//
#include "tests/runtime/session/search/Reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace ingot::runtime;

namespace ingot::test {

static std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<double> fakeLogprobs(const std::vector<int32_t> &ids) {
  std::vector<float> logits = fakeLogits(ids);
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit));
  std::vector<double> out;
  for (float logit : logits)
    out.push_back(double(logit) - std::log(sum));
  return out;
}

void sortBy(std::vector<Found> &all, double Found::*key) {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return all[a].*key != all[b].*key ? all[a].*key > all[b].*key : a < b;
  });
  std::vector<Found> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(all[i]));
  all = std::move(sorted);
}

std::vector<Found> beamsAlone(const std::vector<int32_t> &prompt, int64_t maxTokens,
                              const BeamParams &params, const std::set<int32_t> &ends) {
  const auto width = size_t(params.width);
  std::vector<Found> running{{}}, finished;
  for (int64_t length = 1; length <= maxTokens; ++length) {
    std::vector<Found> all;
    for (const Found &one : running) {
      std::vector<double> logprobs = fakeLogprobs(joined(prompt, one.ids));
      for (int32_t id = 0; id < kFakeVocab; ++id) {
        all.push_back(one);
        all.back().ids.push_back(id);
        all.back().sum += logprobs[size_t(id)];
        all.back().score = all.back().sum / std::pow(double(length), params.lengthPenalty);
      }
    }
    sortBy(all, &Found::sum);
    running.clear();
    for (size_t rank = 0; rank < all.size() && running.size() < width; ++rank) {
      const bool over = ends.contains(all[rank].ids.back()) || length == maxTokens;
      if (!over)
        running.push_back(all[rank]);
      else if (rank < width)
        finished.push_back(all[rank]);
      else if (length == maxTokens)
        break;
    }
    sortBy(finished, &Found::score);
    finished.resize(std::min(finished.size(), width));
    if (running.empty())
      break;
    if (finished.size() < width)
      continue;
    const double bound =
        running.front().sum /
        std::pow(double(params.earlyStopping == EarlyStopping::Never && params.lengthPenalty > 0
                            ? maxTokens
                            : length),
                 params.lengthPenalty);
    if (params.earlyStopping == EarlyStopping::Yes || finished.back().score >= bound)
      break;
  }
  return finished;
}

/// Returns the state normalised to length 1 in f32, as the session stores it. The model has few distinct
/// states, so equal ones must have the same similarity here as in the session.
static std::vector<float> unitState(const std::vector<int32_t> &ids) {
  std::vector<float> state = fakeState(ids);
  double square = 0;
  for (float value : state)
    square += double(value) * double(value);
  for (float &value : state)
    value = float(double(value) * (1 / std::sqrt(square)));
  return state;
}

static double cosine(const std::vector<float> &a, const std::vector<float> &b) {
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i)
    dot += double(a[i]) * double(b[i]);
  return dot;
}

std::vector<int32_t> contrastiveAlone(const std::vector<int32_t> &prompt, int64_t maxTokens,
                                      const ContrastiveParams &params,
                                      const std::set<int32_t> &ends) {
  std::vector<int32_t> ids = prompt;
  std::vector<std::vector<float>> states;
  for (size_t i = 0; i < prompt.size(); ++i)
    states.push_back(unitState({prompt.begin(), prompt.begin() + long(i) + 1}));
  while (int64_t(ids.size() - prompt.size()) < maxTokens) {
    std::vector<double> logprobs = fakeLogprobs(ids);
    std::vector<int32_t> order;
    for (int32_t id = 0; id < kFakeVocab; ++id)
      order.push_back(id);
    std::ranges::sort(order, [&](int32_t a, int32_t b) {
      return logprobs[size_t(a)] != logprobs[size_t(b)] ? logprobs[size_t(a)] > logprobs[size_t(b)]
                                                        : a < b;
    });
    order.resize(size_t(params.topK));
    double best = -10;
    int32_t chosen = -1;
    std::vector<float> chosenState;
    for (int32_t id : order) {
      std::vector<float> state = unitState(joined(ids, {id}));
      double most = -1;
      for (const auto &before : states)
        most = std::max(most, cosine(before, state));
      const double score =
          (1 - params.alpha) * std::exp(logprobs[size_t(id)]) - params.alpha * most;
      if (score > best) {
        best = score;
        chosen = id;
        chosenState = state;
      }
    }
    if (ends.contains(chosen))
      break;
    ids.push_back(chosen);
    states.push_back(chosenState);
  }
  return {ids.begin() + long(prompt.size()), ids.end()};
}

} // namespace ingot::test
