//===- KernelBench.cpp - Times selected launches of a step on the CPU --------===//
//
// Uses a separate step loop over the selected launches of the executor: parts are cut, claimed and
// waited for as in a step.
//===----------------------------------------------------------------------===//
#include "runtime/device/KernelBench.h"
#include "runtime/device/UniformRoutes.h"
#include "runtime/device/cpu/CpuExecutor.h"

#include <cstring>
#include <utility>

namespace ingot::cpu {

class KernelBench final : public runtime::KernelBench {
public:
  explicit KernelBench(CpuExecutor &executor) : executor(executor) {}

  Result<void> prepare(const BatchView &batch) override;
  Launches launches(const Choice &choice) override;
  Result<std::vector<double>> time(const Choice &choice, int rounds, int runs) override;
  Result<std::optional<double>> hostSeconds() override { return std::optional<double>(); }
  bool alive() override { return true; }
  Result<Limits> limits() override {
    return Limits{};
  } // tools/ingot/measure/roofline/MachineLimits.h has them

private:
  std::vector<ResolvedLaunch> chosen(const Choice &choice) const;
  Result<void> take(const Choice &choice);
  void spreadRoutes();

  CpuExecutor &executor;
  ItemCounts count; ///< of the batch
  uint64_t cases = 1;
  /// State of the last choice.
  std::optional<Choice> taken;
  std::vector<ResolvedLaunch> program; ///< its launches, `copies` times
  uint64_t copies = 1;
  std::unique_ptr<StepLoop> loop; ///< its threads must end before the data that they work on is
                                  ///< destroyed
};

Result<void> KernelBench::prepare(const BatchView &batch) {
  count = ItemCounts(batch);
  const bool greedy = executor.keys && batch.rows <= kGreedyRows;
  cases = executor.casesOf(greedy ? fb::Mode::Greedy : fb::Mode::Logits, batch);
  auto step = [&] { return greedy ? executor.beginSampled(batch) : executor.step(batch); };
  auto prepared = step();
  while (prepared && batch.tokens == 1 && executor.loop->readAhead().tries())
    prepared = step();
  return prepared;
}

/// Returns the selected launches that have items. A group ends after a selected launch if it, or any launch
/// between it and the next selected one, ends a group.
std::vector<ResolvedLaunch> KernelBench::chosen(const Choice &choice) const {
  std::vector<ResolvedLaunch> list;
  for (const ResolvedLaunch &launch : executor.resolved) {
    const fb::Kernel &kernel = *executor.plan->kernels()->Get(launch.kernel);
    const bool wanted =
        choice.has(launch.kernel) || (choice.without && runtime::findsRoutes(kernel));
    if (launch.cases & cases && wanted && count[launch.base] * launch.factor != 0)
      list.push_back(launch);
    else if (!list.empty())
      list.back().barrier |= launch.barrier;
  }
  return list;
}

runtime::KernelBench::Launches KernelBench::launches(const Choice &choice) {
  const bool one = executor.views[0].tokens == 1;
  const int64_t ahead = choice.only && one ? executor.readAhead(*choice.only) : 0;
  return {chosen(choice).size(), ahead ? "each_line_ahead" : "", false};
}

/// Fills in routes like the routes that a router computes, for launches that are timed in isolation.
void KernelBench::spreadRoutes() {
  for (const ResolvedLaunch &launch : executor.resolved) {
    const fb::Kernel &kernel = *executor.plan->kernels()->Get(launch.kernel);
    if (!kernel.family() || kernel.family()->string_view() != "group_routes")
      continue;
    const std::vector<std::byte> routes =
        runtime::uniformRoutes(kernel.experts(), kernel.experts_used(), executor.views[0].tokens);
    std::memcpy(launch.args[0], routes.data(), routes.size());
  }
}

Result<void> KernelBench::take(const Choice &choice) {
  loop.reset();
  taken.reset();
  program.clear();
  std::vector<ResolvedLaunch> once = chosen(choice);
  copies = once.empty() ? 1 : (kLeastLaunches + once.size() - 1) / once.size();
  if (!once.empty())
    once.back().barrier = true;
  for (uint64_t copy = 0; copy < copies; ++copy)
    program.insert(program.end(), once.begin(), once.end());
  auto made = StepLoop::create(program, executor.threads(), executor.scratch.data(),
                               executor.scratchStride, &executor.loop->readAhead());
  if (!made)
    return made.error();
  loop = std::move(*made);
  taken = choice;
  return {};
}

Result<std::vector<double>> KernelBench::time(const Choice &choice, int rounds, int runs) {
  if (!taken || *taken != choice)
    if (auto made = take(choice); !made)
      return made.error();
  if (choice.only)
    spreadRoutes();
  auto run = [&] { loop->run(executor.views.data(), nullptr, cases); };
  run();
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const uint64_t begin = runtime::nowNanoseconds();
    for (int i = 0; i < runs; ++i)
      run();
    const double all = double(runtime::nowNanoseconds() - begin) * 1e-9;
    seconds.push_back(all / double(runs) / double(copies));
  }
  return seconds;
}

std::unique_ptr<runtime::KernelBench> CpuExecutor::kernelBench() {
  return std::make_unique<KernelBench>(*this);
}

} // namespace ingot::cpu
