//===- EngineCost.cpp - See EngineCost.h -----------------------------------===//
#include "runtime/service/EngineCost.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

constexpr double kBytesPerSecond = 12e9;      ///< nominal, of memory
constexpr double kOperationsPerSecond = 5e10; ///< of one thread, without a model

/// core_ns or bytes at so many units: straight lines between what was foretold, in proportion
/// beyond.
double foretold(const fb::KernelCost &cost, double units,
                uint64_t (fb::Prediction::*what)() const) {
  const auto &points = *cost.predicted();
  const fb::Prediction *left = points.Get(0), *right = left;
  for (unsigned i = 1; i < points.size() && double(left->tokens()) < units; ++i) {
    left = right;
    right = points.Get(i);
    if (double(right->tokens()) >= units)
      break;
    left = right;
  }
  double a = double((left->*what)()), b = double((right->*what)());
  if (right->tokens() > left->tokens() && units < double(right->tokens()))
    return a +
           (b - a) * (units - double(left->tokens())) / double(right->tokens() - left->tokens());
  return b * std::max(1.0, units / double(right->tokens()));
}

/// One launch with so many units (tokens or rows), without what depends on positions.
double launchSeconds(const fb::KernelCost &cost, double units, double threads) {
  if (cost.predicted() && cost.predicted()->size())
    return std::max(foretold(cost, units, &fb::Prediction::core_ns) * 1e-9 / threads,
                    foretold(cost, units, &fb::Prediction::bytes) / kBytesPerSecond);
  return units * double(cost.operations_per_unit()) / kOperationsPerSecond / threads;
}

} // namespace

StepCostTable engineCost(const fb::Engine &program, std::string_view target, int threads,
                         int64_t mostTokens) {
  StepCostTable table;
  const fb::CodeObject *code = nullptr;
  for (const fb::CodeObject *one : *program.code())
    if (one->target()->string_view() == target && one->costs() && one->costs()->size())
      code = one;
  if (!code)
    return table;
  std::vector<int64_t> tokens;
  for (int64_t count = 1; count < mostTokens; count *= 2)
    tokens.push_back(count);
  tokens.push_back(mostTokens);
  for (int64_t count : tokens)
    table.points.push_back({count, 0});
  for (const fb::Step *step : *program.steps())
    for (const fb::Launch *launch : *program.sections()->Get(step->section())->launches()) {
      const fb::KernelCost &cost = *code->costs()->Get(launch->kernel());
      table.perPosition +=
          double(cost.operations_per_position()) / kOperationsPerSecond / double(threads);
      if (cost.per_row()) {
        // The first row is in every step; what 16 take more is shared out.
        double first = launchSeconds(cost, 1, threads);
        double each = (launchSeconds(cost, 16, threads) - first) / 15;
        table.perRow += each;
        for (StepCostTable::Point &point : table.points)
          point.seconds += first - each;
        continue;
      }
      for (StepCostTable::Point &point : table.points)
        point.seconds += launchSeconds(cost, double(point.tokens), threads);
    }
  if (table.points.front().seconds <= 0) // costs without numbers
    return {};
  return table;
}

} // namespace ingot::runtime
