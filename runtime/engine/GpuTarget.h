//===- GpuTarget.h - Names of GPU code, and which code a GPU can run -------===//
//
//   cuda:sm_90a            a cubin for compute capability 9.0 alone (architecture-specific)
//   cuda:sm_80             a cubin for 8.0 and later minor versions of 8
//   cuda:compute_80        PTX: the driver compiles it for 8.0 and anything newer
//   cuda-emulator:sm_90a   the kernels of cuda:sm_90a as x86-64 code over the emulator
//
// NVIDIA, "CUDA C++ Programming Guide", "Binary Compatibility" and "PTX Compatibility".
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// 90 for 9.0, 120 for 12.0.
using ComputeCapability = int;

struct GpuTarget {
  enum class Kind { Cubin, Ptx, Emulator };
  Kind kind;
  ComputeCapability capability;
  bool specific; ///< "sm_90a": this capability and no other

  /// A GPU of capability `gpu` can run it. The emulator runs anywhere.
  bool runsOn(ComputeCapability gpu) const;
};

/// Nothing for other names, "cpu:avx2" among them.
std::optional<GpuTarget> gpuTargetNamed(std::string_view name);

/// "sm_90".
std::string capabilityName(ComputeCapability capability);

} // namespace ingot::runtime
