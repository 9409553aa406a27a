//===- GpuMachine.h - What GPUs of an architecture can do at most ---------===//
//
// Figures of data sheets, for the best-known GPU of each architecture, and three guesses. They
// serve where nothing was measured: to foretell steps before the first has run (EngineCost.h), and
// as roofs (`ingot inspect --roofline`, `ingot bench-kernels`). The model is one line:
//
//   seconds of a launch = max(bytes / read, operations / (rate * reached)) + exposed
//
//   rate      of tensor cores, dense, f32 sums: operations a clock and processor, times both
//   reached   the part of it that our kernels are thought to reach: of projections, of attention
//   exposed   of a launch in a graph, what nothing hides: its start, the tail of the one before
//
// `read` is 7/8 of the memory's nominal rate. None of the guesses was measured; measured steps
// correct what is foretold of them (schedule/StepCost.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/GpuTarget.h"

namespace ingot::runtime {

struct GpuMachine {
  ComputeCapability capability;
  const char *name;        ///< of the GPU that the figures are of
  int processors;          ///< multiprocessors
  double gigahertz;        ///< under load
  double nominalGbPerS;    ///< of its memory
  double bf16PerClock;     ///< of one processor; a multiplication and an addition are two
  double fp8PerClock;      ///< likewise
  double f32PerClock;      ///< likewise, without tensor cores
  double reached;          ///< of the rate, by projections
  double attentionReached; ///< by attention over a prompt
  double exposedUs;        ///< of each launch

  double readGbPerS() const { return nominalGbPerS * 7 / 8; }
  /// 10^9 operations a second of `count` processors.
  double gops(double perClock, double count) const { return perClock * count * gigahertz; }
  double gops(double perClock) const { return gops(perClock, processors); }
};

/// Of that architecture, or the last listed that is not newer (8.0 at least).
const GpuMachine &gpuMachine(ComputeCapability capability);

/// Of GPU code by its target; null for a CPU's.
const GpuMachine *gpuMachineFor(std::string_view target);

} // namespace ingot::runtime
