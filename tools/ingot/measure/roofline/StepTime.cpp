//===- StepTime.cpp - See StepTime.h --------------------------------------===//
#include "tools/ingot/measure/roofline/StepTime.h"

#include "runtime/engine/GpuMachine.h"

namespace ingot::cli {

MachineLimits limitsFor(std::string_view target, int threads) {
  if (const auto *gpu = runtime::gpuMachineFor(target))
    return {gpu->readGbPerS(), 0, gpu->gops(gpu->bf16PerClock), gpu->gops(gpu->f32PerClock)};
  const auto level = runtime::isaLevelNamed(target);
  return level && runtime::hostCpu().has(*level) ? measureLimits(*level, threads) : MachineLimits();
}

/// Returns the cost model's combined time of two overlapping activities
/// (codegen/cpu/schedule/MatmulCost.h).
static double overlap(double a, double b) { return std::max(a, b) + std::min(a, b) / 8; }

double predictUs(const KernelWork &work, const fb::KernelCost *cost, const MachineLimits &limits,
                 double threads) {
  if (limits.readGbPerS <= 0 || !cost)
    return 0;
  const fb::Arithmetic unit = cost->arithmetic();
  const double rate = unit == fb::Arithmetic::Int8   ? limits.int8Gops
                      : unit == fb::Arithmetic::Bf16 ? limits.bf16Gflops
                                                     : limits.f32Gflops;
  const double core = work.coreSeconds > 0 ? work.coreSeconds * 1e6 / threads
                      : rate > 0           ? work.operations / rate / 1e3
                                           : 0;
  return overlap(core, work.memoryBytes / limits.readGbPerS / 1e3);
}

} // namespace ingot::cli
