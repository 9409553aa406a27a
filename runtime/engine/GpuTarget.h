//===- GpuTarget.h - Names of GPU code, and which code a GPU can run -------===//
//
//   cuda:sm_90a            a cubin for compute capability 9.0 only (architecture-specific)
//   cuda:sm_80             a cubin for 8.0 and later minor versions of 8
//   cuda:compute_80        PTX: the driver compiles it for 8.0 and anything newer
//   cuda-emulator:sm_90a   the kernels of cuda:sm_90a as x86-64 code over the emulator
//
// NVIDIA, "CUDA C++ Programming Guide", "Binary Compatibility" and "PTX Compatibility".
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Compute capability: 90 for 9.0, 120 for 12.0.
using ComputeCapability = int;

struct GpuTarget {
  enum class Kind { Cubin, Ptx, Emulator };
  Kind kind;
  ComputeCapability capability;
  bool specific; ///< "sm_90a": this capability and no other

  /// Returns whether a GPU of capability `gpu` can run it. Emulator code runs anywhere.
  bool runsOn(ComputeCapability gpu) const;
};

/// An architecture that kernels are compiled for.
struct GpuArch {
  std::string_view name; ///< "sm_90a"
  bool wgmma;            ///< supports warp-group matrix multiply (wgmma)
};

/// Returns all architectures, oldest first. A new one needs a row here and one in GpuMachine.cpp.
std::span<const GpuArch> gpuArchitectures();
/// PTX of this target serves architectures that are not in the list.
constexpr std::string_view kPtxTarget = "cuda:compute_80";
/// Returns the architecture of a target name, which is the same for "cuda:sm_90a" and "cuda-emulator:sm_90a"; null for
/// PTX and for names that are not in the list.
const GpuArch *gpuArchOf(std::string_view target);

/// Parses a target name; nullopt for other names, including "cpu:avx2".
std::optional<GpuTarget> gpuTargetNamed(std::string_view name);

/// Returns the --target to recompile with for a GPU: the newest listed architecture with cubins that the GPU runs, or
/// else kPtxTarget. Empty if the GPU is older than all of these.
std::string targetForGpu(ComputeCapability gpu);
/// Returns the third line of an error about an engine without code for the GPU: how to rebuild it, or that
/// the GPU is too old.
std::string rebuildForGpu(ComputeCapability gpu);

/// "sm_90".
std::string capabilityName(ComputeCapability capability);

} // namespace ingot::runtime
