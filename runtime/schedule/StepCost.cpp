//===- StepCost.cpp - See StepCost.h ---------------------------------------===//
#include "runtime/schedule/StepCost.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace ingot::runtime {

double StepCostTable::seconds(const StepWork &work) const {
  assert(!points.empty() && "a table without points stands for unknown costs");
  double tokens = double(work.tokens), base = points.front().seconds;
  if (points.size() > 1 && work.tokens > points.front().tokens) {
    size_t right = 1;
    while (right + 1 < points.size() && points[right].tokens < work.tokens)
      ++right;
    const Point &a = points[right - 1], &b = points[right];
    assert(a.tokens < b.tokens && "points ascend in tokens");
    base = a.seconds +
           (b.seconds - a.seconds) * (tokens - double(a.tokens)) / double(b.tokens - a.tokens);
  }
  return base + perRow * double(work.rows) + perPosition * double(work.positions) +
         perRead * double(work.reads);
}

StepCostTable StepCostTable::unknown() { return {{{1, 1e-3}, {16, 2e-3}, {512, 33e-3}}, 0, 0}; }

StepCost::StepCost(StepCostTable table) : own(std::move(table)) {
  if (own.points.empty())
    own = StepCostTable::unknown();
}

static size_t classOf(int64_t tokens) {
  return std::min<size_t>(size_t(std::bit_width(uint64_t(std::max<int64_t>(tokens, 1)))) - 1, 23);
}

double StepCost::predict(const StepWork &work) const {
  double at = std::log2(double(std::max<int64_t>(work.tokens, 1)));
  // Find the nearest measured classes on both sides. The middle of class c is at c + 0.5.
  const Class *left = nullptr, *right = nullptr;
  double leftAt = 0, rightAt = 0;
  for (size_t c = 0; c < classes.size(); ++c) {
    if (!classes[c].count)
      continue;
    double middle = double(c) + 0.5;
    if (middle <= at)
      left = &classes[c], leftAt = middle;
    else if (!right)
      right = &classes[c], rightAt = middle;
  }
  double ratio = left ? left->ratio : right ? right->ratio : 0;
  if (left && right)
    ratio += (right->ratio - left->ratio) * (at - leftAt) / (rightAt - leftAt);
  return own.seconds(work) * std::exp(ratio);
}

void StepCost::observe(const StepWork &work, double seconds) {
  if (work.tokens <= 0 || !(seconds > 0))
    return;
  Class &one = classes[classOf(work.tokens)];
  one.last[one.count++ % kKept] = std::log(seconds / own.seconds(work));
  std::array<double, kKept> sorted = one.last;
  auto end = sorted.begin() + long(std::min(one.count, kKept));
  auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  one.ratio = *middle;
}

double StepCost::predictPrompt(int64_t tokens, int64_t chunk) const {
  assert(chunk >= 1 && "the prompt would never end");
  double seconds = 0;
  for (int64_t first = 0; first < tokens; first += chunk)
    seconds += predict(StepWork::chunk(first, std::min(chunk, tokens - first)));
  return seconds;
}

} // namespace ingot::runtime
