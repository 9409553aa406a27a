//===- Limits.h - The largest models that kernels support ------------------===//
//
// Used by verifiers, generators, the loader and the compatibility matrix (compiler/options/Compatibility.h).
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot {

/// Four times the largest number in any known model. Routing kernels hold a score for each expert in scratch.
inline constexpr int64_t kMostExperts = 2048;

/// Limits of GPU kernels, which hold these in registers or in a block's shared memory.
struct GpuLimits {
  int64_t headWidth = 256;
  int64_t experts = 1024, expertsUsed = 32,
          expertGroups = 64; ///< device/experts.cuh has the same values
};
inline constexpr GpuLimits kGpuLimits;

} // namespace ingot
