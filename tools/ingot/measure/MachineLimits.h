//===- MachineLimits.h - What this machine can do at most, right now ------===//
//
// The two kinds of roof that kernels are held against, measured in the run that uses them: a shared
// machine gives another half of itself every minute.
//
//   read    memory in huge pages, panel by panel as a decode step reads int4 weights: 9 cache lines,
//           prefetched in the faster of both ways that kernels have (runtime/device/cpu/ReadAhead.h),
//           a dot each. The median of five passes over 192 MiB
//   rates   16 independent chains of one instruction, no memory: dots of u8 x s8, of bf16, f32 fma;
//           the best of five
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Isa.h"

#include <algorithm>
#include <string>

namespace ingot::cli {

/// All threads together.
struct MachineLimits {
  double readGbPerS = 0;
  double int8Gops = 0, bf16Gflops = 0, f32Gflops = 0; ///< a multiplication and an addition are two

  double highest() const { return std::max(int8Gops, bf16Gflops); }
};

/// About half a second. Without memory for that readGbPerS stays 0.
MachineLimits measureLimits(runtime::IsaLevel level, int threads);

/// Its rates alone, readGbPerS is 0: a few milliseconds.
MachineLimits measureRates(runtime::IsaLevel level, int threads);

/// What was measured before and after something else was: the higher of each, since others' work only takes away.
MachineLimits higher(const MachineLimits &before, const MachineLimits &after);

/// Processes that wanted to run during the last minute, the system's own figure.
double loadAverage();

/// Why figures of this run say little, or nothing: the limits differ by more than a quarter, or others keep more than
/// half of the processors (`load`, from before this run did anything). One line without its end.
std::string busyNote(const MachineLimits &before, const MachineLimits &after, double load);

} // namespace ingot::cli
