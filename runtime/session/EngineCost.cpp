//===- EngineCost.cpp - See EngineCost.h -----------------------------------===//
#include "runtime/session/EngineCost.h"

#include "runtime/engine/GpuMachine.h"
#include "runtime/engine/Program.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

constexpr double kBytesPerSecond = 12e9;      ///< nominal, of memory
constexpr double kOperationsPerSecond = 5e10; ///< of one thread, without a model

double between(const fb::KernelCost &cost, double units, uint64_t (fb::Prediction::*what)() const) {
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
  if (cost.predicted() && cost.predicted()->size()) {
    const Foretold launch = foretold(cost, units);
    return std::max(launch.coreSeconds / threads, launch.bytes / kBytesPerSecond);
  }
  return units * double(cost.operations_per_unit()) / kOperationsPerSecond / threads;
}

void addCpuLaunch(const fb::KernelCost &cost, double threads, StepCostTable &table) {
  table.perPosition += double(cost.operations_per_position()) / kOperationsPerSecond / threads;
  if (cost.per_row()) {
    // The first row is in every step; what 16 take more is shared out.
    double first = launchSeconds(cost, 1, threads);
    double each = (launchSeconds(cost, 16, threads) - first) / 15;
    table.perRow += each;
    for (StepCostTable::Point &point : table.points)
      point.seconds += first - each;
    return;
  }
  for (StepCostTable::Point &point : table.points)
    point.seconds += launchSeconds(cost, double(point.tokens), threads);
}

/// One launch with so many units, its start aside.
double gpuSeconds(const fb::KernelCost &cost, double units, const GpuMachine &machine) {
  Foretold launch = foretold(cost, units);
  if (launch.bytes == 0) // its rows are all that it touches
    launch = {units * double(cost.operations_per_unit()) / machine.gops(machine.f32PerClock) * 1e-9,
              units * double(cost.bytes_per_unit())};
  return std::max(launch.coreSeconds, launch.bytes / machine.readGbPerS() * 1e-9);
}

/// In a step of so many tokens and few rows: then the first variant has no blocks.
bool isIdle(const fb::KernelVariants &variants, int64_t tokens) {
  const fb::Variant &first = *variants.variants()->Get(0);
  return first.x()->multiply() == 0 &&
         (first.max_tokens() == 0 || uint64_t(tokens) <= first.max_tokens());
}

void addGpuLaunch(const fb::KernelCost &cost, const fb::KernelVariants &variants,
                  const GpuMachine &machine, StepCostTable &table) {
  const double attention = machine.gops(machine.bf16PerClock) * machine.attentionReached;
  table.perPosition += double(cost.operations_per_position()) / attention * 1e-9;
  table.perRead += double(cost.bytes_per_position()) / machine.readGbPerS() * 1e-9;
  const double firstRow = cost.per_row() ? gpuSeconds(cost, 1, machine) : 0;
  const double eachRow = cost.per_row() ? (gpuSeconds(cost, 16, machine) - firstRow) / 15 : 0;
  table.perRow += eachRow;
  for (StepCostTable::Point &point : table.points) {
    if (isIdle(variants, point.tokens))
      continue;
    const double work =
        cost.per_row() ? firstRow - eachRow : gpuSeconds(cost, double(point.tokens), machine);
    point.seconds += machine.exposedUs * 1e-6 + work;
  }
}

} // namespace

Foretold foretold(const fb::KernelCost &cost, double units) {
  if (!cost.predicted() || !cost.predicted()->size())
    return {};
  return {between(cost, units, &fb::Prediction::core_ns) * 1e-9,
          between(cost, units, &fb::Prediction::bytes)};
}

StepCostTable engineCost(const fb::Program &program, std::string_view target, int threads,
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
  const GpuMachine *machine = gpuMachineFor(target);
  for (const fb::Step *step : *generateEntry(program).steps()) {
    const fb::Case &one = caseFor(*program.sections()->Get(step->section()), fb::Mode::Logits);
    for (const fb::Launch *launch : *one.launches()) {
      const fb::KernelCost &cost = *code->costs()->Get(launch->kernel());
      machine ? addGpuLaunch(cost, *code->variants()->Get(launch->kernel()), *machine, table)
              : addCpuLaunch(cost, double(threads), table);
    }
  }
  if (table.points.front().seconds <= 0) // costs without numbers
    return {};
  return table;
}

} // namespace ingot::runtime
