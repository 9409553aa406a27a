//===- GpuMachine.h - Peak rates of the GPUs of each architecture ---------===//
//
// Data-sheet figures for the best-known GPU of each architecture, and three estimates. They are
// used where nothing has been measured: to predict steps before the first has run (EngineCost.h),
// and as roofs (`ingot inspect --roofline`, `ingot bench-kernels`). The model is one formula:
//
//   seconds of a launch = max(bytes / read, operations / (rate * reached)) + exposed
//
//   rate      dense rate of the tensor cores with f32 sums: operations per clock per SM, times clock and SMs
//   reached   fraction of `rate` that our kernels are assumed to reach, in projections or in attention
//   exposed   time per launch in a graph that nothing hides: its start, and the tail of the launch before it
//
// `read` is 7/8 of the memory's nominal rate. None of the estimates was measured; measured steps
// correct the predictions (schedule/StepCost.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/GpuTarget.h"

namespace ingot::runtime {

struct GpuMachine {
  ComputeCapability capability;
  const char *name;        ///< of the GPU that the figures describe
  int processors;          ///< SMs
  double gigahertz;        ///< under load
  double nominalGbPerS;    ///< of the GPU's memory
  double bf16PerClock;     ///< per SM; a multiply-add counts as two
  double fp8PerClock;      ///< likewise
  double f32PerClock;      ///< likewise, without tensor cores
  double reached;          ///< fraction of the rate, for projections
  double attentionReached; ///< for attention over a prompt
  double exposedUs;        ///< per launch

  double readGbPerS() const { return nominalGbPerS * 7 / 8; }
  /// 10^9 operations per second of `count` SMs.
  double gops(double perClock, double count) const { return perClock * count * gigahertz; }
  double gops(double perClock) const { return gops(perClock, processors); }
};

/// Returns the machine of that architecture. If it is not listed, returns the last in the list that is
/// older; for architectures older than 8.0, the one of 8.0.
const GpuMachine &gpuMachine(ComputeCapability capability);

/// Returns the machine for GPU code, by its target; null for CPU code.
const GpuMachine *gpuMachineFor(std::string_view target);

} // namespace ingot::runtime
