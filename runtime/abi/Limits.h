//===- Limits.h - The largest models that kernels take ---------------------===//
//
// Verifiers, generators, the loader and the table of what goes with what (compiler/console/Mixes.h) ask here.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot {

/// Four times what any model has: kernels that choose keep a score for each at hand.
inline constexpr int64_t kMostExperts = 2048;

/// Of kernels for GPUs: what is in registers or in shared memory of a block.
struct GpuLimits {
  int64_t headWidth = 256;
  int64_t experts = 1024, expertsUsed = 32,
          expertGroups = 64; ///< device/experts.cuh has the same numbers
};
inline constexpr GpuLimits kGpuLimits;

} // namespace ingot
