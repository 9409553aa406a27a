//===- EngineCost.cpp - See EngineCost.h -----------------------------------===//
#include "runtime/session/EngineCost.h"

#include "runtime/engine/GpuMachine.h"
#include "runtime/engine/Program.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

namespace {

constexpr double kBytesPerSecond = 12e9;      ///< nominal rate of memory
constexpr double kOperationsPerSecond = 5e10; ///< one thread's rate for kernels without a model

double between(const fb::KernelCost &cost, double units, uint64_t (fb::Prediction::*what)() const) {
  const auto &points = *cost.predicted();
  assert(points.size() != 0 && "the caller looks for predictions");
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

/// Returns the seconds of one launch with that many units (tokens or rows), without the part that
/// depends on positions.
double launchSeconds(const fb::KernelCost &cost, double units, double threads) {
  if (cost.predicted() && cost.predicted()->size()) {
    const PredictedLaunch launch = predict(cost, units);
    return std::max(launch.coreSeconds / threads, launch.bytes / kBytesPerSecond);
  }
  return units * double(cost.operations_per_unit()) / kOperationsPerSecond / threads;
}

/// Costs of a launch that has logits rows as units. Every step has at least one row. The extra cost of 16 rows is
/// divided evenly among the other 15 rows.
struct RowSeconds {
  double first, each;

  double fixed() const { return first - each; }
};

/// Returns the seconds of one launch with that many units, without the overhead of its start.
double gpuSeconds(const fb::KernelCost &cost, double units, const GpuMachine &machine) {
  PredictedLaunch launch = predict(cost, units);
  if (launch.bytes == 0) // the kernel reads only its rows
    launch = {units * double(cost.operations_per_unit()) / machine.gops(machine.f32PerClock) * 1e-9,
              units * double(cost.bytes_per_unit())};
  return std::max(launch.coreSeconds, launch.bytes / machine.readGbPerS() * 1e-9);
}

/// The costs of a device's launches.
class LaunchCosts {
public:
  LaunchCosts(const fb::CodeObject &code, const GpuMachine *machine, int threads)
      : code(code), machine(machine), threads(double(threads)) {
    assert(threads >= 1 && "some thread runs the kernels");
  }

  /// Adds the costs that do not depend on the step's tokens.
  void addShared(uint32_t kernel, StepCostTable &table) const {
    const fb::KernelCost &cost = *code.costs()->Get(kernel);
    if (machine) {
      const double attention = machine->gops(machine->bf16PerClock) * machine->attentionReached;
      table.perPosition += double(cost.operations_per_position()) / attention * 1e-9;
      table.perRead += double(cost.bytes_per_position()) / machine->readGbPerS() * 1e-9;
    } else {
      table.perPosition += double(cost.operations_per_position()) / kOperationsPerSecond / threads;
    }
    if (cost.per_row())
      table.perRow += ofRows(cost).each;
  }
  /// Returns the seconds of a kernel in a step of that many tokens, without the cost of rows beyond the
  /// first.
  double seconds(uint32_t kernel, int64_t tokens) const {
    const fb::KernelCost &cost = *code.costs()->Get(kernel);
    if (machine && code.variants()->Get(kernel)->variants()->size() == 0)
      return 0; // the kernel is not launched
    return (machine ? machine->exposedUs * 1e-6 : 0) +
           (cost.per_row() ? ofRows(cost).fixed() : ofUnits(cost, double(tokens)));
  }

private:
  double ofUnits(const fb::KernelCost &cost, double units) const {
    return machine ? gpuSeconds(cost, units, *machine) : launchSeconds(cost, units, threads);
  }
  RowSeconds ofRows(const fb::KernelCost &cost) const {
    const double first = ofUnits(cost, 1);
    return {first, (ofUnits(cost, 16) - first) / 15};
  }

  const fb::CodeObject &code;
  const GpuMachine *machine; ///< null for a CPU
  double threads;
};

} // namespace

PredictedLaunch predict(const fb::KernelCost &cost, double units) {
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
  const LaunchCosts costs(*code, gpuMachineFor(target), threads);
  for (const fb::Step *step : *generateEntry(program).steps()) {
    const fb::Section &section = *program.sections()->Get(step->section());
    auto launchesAt = [&](uint64_t count) -> const auto & { // in steps of few rows
      return *caseFor(section, {fb::Mode::Logits, count, 1}).launches();
    };
    for (const fb::Launch *launch : launchesAt(UINT64_MAX))
      costs.addShared(launch->kernel(), table);
    for (StepCostTable::Point &point : table.points)
      for (const fb::Launch *launch : launchesAt(uint64_t(point.tokens)))
        point.seconds += costs.seconds(launch->kernel(), point.tokens);
  }
  if (table.points.front().seconds <= 0) // the engine's costs have no values
    return {};
  return table;
}

} // namespace ingot::runtime
