//===- Routes.cpp - See Routes.h -------------------------------------------===//
#include "compiler/reference/Routes.h"
#include "runtime/abi/Routes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace ingot;
using namespace ingot::reference;

namespace {

float expOf(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }

/// Returns the number by which a score is ranked. NaN ranks lowest.
float rank(float score) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return std::isnan(score) ? kLowest : std::max(score, kLowest);
}

/// Replaces each value x with e^(x - max), divided by the sum of these powers.
void softmax(std::span<float> values) {
  const float highest = *std::ranges::max_element(values);
  float total = 0;
  for (float &value : values)
    total += value = expOf(value - highest);
  for (float &value : values)
    value /= total;
}

void score(lm::RouteScore kind, std::span<float> values) {
  switch (kind) {
  case lm::RouteScore::Softmax:
    return softmax(values);
  case lm::RouteScore::Sigmoid:
    for (float &value : values)
      value = 1.0f / (1.0f + expOf(-value));
    return;
  case lm::RouteScore::SqrtSoftplus: // ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)
    for (float &value : values)
      value = std::sqrt(std::max(value, 0.0f) +
                        static_cast<float>(std::log1p(std::exp(-std::fabs(double(value))))));
    return;
  case lm::RouteScore::None:
    return;
  }
}

/// Returns the indices of the `count` largest values. Among equal values, the lowest index comes first.
std::vector<int64_t> largest(std::span<const float> values, int64_t count) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return values[a] > values[b]; });
  order.resize(static_cast<size_t>(count));
  return order;
}

/// Excludes the experts of all groups except the `usedGroups` best ones.
void dropGroups(const RouteRules &rules, std::span<float> ranks) {
  const int64_t size = rules.experts / rules.groups;
  std::vector<float> groups;
  for (int64_t g = 0; g < rules.groups; ++g) {
    std::vector<float> members(ranks.begin() + g * size, ranks.begin() + (g + 1) * size);
    std::ranges::sort(members, std::greater<float>());
    groups.push_back(rules.groupScore == lm::GroupScore::Max ? members[0]
                                                             : rank(members[0] + members[1]));
  }
  std::vector<bool> kept(static_cast<size_t>(rules.groups));
  for (int64_t g : largest(groups, rules.usedGroups))
    kept[static_cast<size_t>(g)] = true;
  for (int64_t e = 0; e < rules.experts; ++e)
    if (!kept[static_cast<size_t>(e / size)])
      ranks[static_cast<size_t>(e)] = -std::numeric_limits<float>::infinity();
}

void normalize(const RouteRules &rules, std::span<float> weights) {
  if (rules.normalize == lm::RouteNorm::Softmax)
    softmax(weights);
  if (rules.normalize != lm::RouteNorm::Sum)
    return;
  float total = 0;
  for (float weight : weights)
    total += weight;
  total = std::max(total + rules.normEps, rules.normFloor);
  for (float &weight : weights)
    weight /= total;
}

} // namespace

void reference::chooseExperts(const RouteRules &rules, std::span<const float> logits,
                              std::span<const float> bias, std::span<const float> expertScale,
                              std::span<int32_t> experts, std::span<float> weights) {
  std::vector<float> scores(logits.begin(), logits.end()), ranks;
  score(rules.score, scores);
  for (size_t e = 0; e < scores.size(); ++e)
    ranks.push_back(rank(bias.empty() ? scores[e] : scores[e] + bias[e]));
  if (rules.groups > 1)
    dropGroups(rules, ranks);
  std::vector<int64_t> chosen = largest(ranks, rules.used);
  std::ranges::sort(chosen);
  for (size_t i = 0; i < chosen.size(); ++i) {
    experts[i] = static_cast<int32_t>(chosen[i]);
    weights[i] = scores[static_cast<size_t>(chosen[i])];
  }
  normalize(rules, weights);
  for (size_t i = 0; i < chosen.size(); ++i) {
    weights[i] *= rules.scale;
    if (!expertScale.empty())
      weights[i] *= expertScale[static_cast<size_t>(chosen[i])];
  }
}

void reference::groupRows(Routes &routes) {
  std::vector<size_t> pairs(routes.expert.size());
  std::iota(pairs.begin(), pairs.end(), 0);
  std::ranges::stable_sort(pairs,
                           [&](size_t a, size_t b) { return routes.expert[a] < routes.expert[b]; });
  routes.row.resize(pairs.size());
  routes.token.resize(pairs.size());
  routes.pair.resize(pairs.size());
  for (size_t row = 0; row < pairs.size(); ++row) {
    routes.pair[row] = static_cast<int32_t>(pairs[row]);
    routes.row[pairs[row]] = static_cast<int32_t>(row);
    routes.token[row] = static_cast<int32_t>(pairs[row] / static_cast<size_t>(routes.used));
  }
}

Matrix reference::dispatch(const Matrix &x, const Routes &routes) {
  Matrix y(static_cast<int64_t>(routes.token.size()), x.columns);
  for (int64_t row = 0; row < y.rows; ++row)
    std::ranges::copy(x.row(routes.token[static_cast<size_t>(row)]), y.row(row).begin());
  return y;
}

Matrix reference::permute(const Matrix &x, std::span<const float> columns, const Routes &routes) {
  Matrix y(x.rows, x.columns);
  for (int64_t row = 0; row < y.rows; ++row) {
    const float *order =
        &columns[static_cast<size_t>(routes.expertOf(row) * orderStride(x.columns))];
    for (int64_t k = 0; k < x.columns; ++k)
      y.row(row)[static_cast<size_t>(k)] = x.row(row)[static_cast<size_t>(order[k])];
  }
  return y;
}

Matrix reference::combine(const Matrix &x, const Routes &routes) {
  Matrix y(x.rows / routes.used, x.columns);
  std::ranges::fill(y.values, 0.0f);
  for (size_t pair = 0; pair < routes.expert.size(); ++pair) {
    std::span<const float> from = x.row(routes.row[pair]);
    std::span<float> to = y.row(static_cast<int64_t>(pair) / routes.used);
    for (size_t i = 0; i < to.size(); ++i)
      to[i] += routes.weight[pair] * from[i];
  }
  return y;
}
