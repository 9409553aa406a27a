//===- MachineLimits.h - Measured peak rates of this machine --------------===//
//
// Kernels are compared with two kinds of roof. Both are measured in the run that uses them, because the
// share of a machine that is available to one user changes by the minute.
//
//   read    reads memory in huge pages, panel by panel, as a decode step reads int4 weights: 9 cache
//           lines, one dot each, prefetched in the faster of the two ways in which kernels prefetch
//           (runtime/device/cpu/ReadAhead.h). The figure is the median of five passes over 192 MiB
//   rates   16 independent chains (12 for AVX2) of one instruction, without memory: u8 x s8 dots, bf16
//           dots and f32 fma. The figure is the best of five
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Isa.h"

#include <algorithm>
#include <string>

namespace ingot::cli {

/// Limits of all threads together.
struct MachineLimits {
  double readGbPerS = 0;
  double int8Gops = 0, bf16Gflops = 0, f32Gflops = 0; ///< a multiply-add counts as two

  double highest() const { return std::max(int8Gops, bf16Gflops); }
};

/// Measures all limits, in about half a second. If there is no memory for the test, readGbPerS stays 0.
MachineLimits measureLimits(runtime::IsaLevel level, int threads);

/// Measures only the rates, in a few milliseconds; readGbPerS is 0.
MachineLimits measureRates(runtime::IsaLevel level, int threads);

/// Returns the higher value of each limit from the measurements `before` and `after` a run, since other processes
/// can only lower a limit.
MachineLimits higher(const MachineLimits &before, const MachineLimits &after);

/// Returns the system's load average of the last minute.
double loadAverage();

/// Returns a line, without a newline, that explains why the figures of this run are unreliable; empty if they are
/// reliable. They are unreliable if the limits differ by more than a quarter, or if other processes use more than
/// half of the processors (`load`, measured before this run did anything).
std::string busyNote(const MachineLimits &before, const MachineLimits &after, double load);

} // namespace ingot::cli
