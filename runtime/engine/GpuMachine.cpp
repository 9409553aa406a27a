//===- GpuMachine.cpp - See GpuMachine.h ----------------------------------===//
#include "runtime/engine/GpuMachine.h"

#include <iterator>

namespace ingot::runtime {

// Sources: NVIDIA's data sheets and architecture papers. These are their dense rates (the rates with
// sparsity are twice as high):
//
//   A100 80GB SXM    312 TFLOPS of bf16                     L40S                362, fp8 733
//   H200 SXM         989, fp8 1,979                         B200                2,250, fp8 4,500
//   RTX PRO 6000     503, fp8 1,007 (f32 sums)              GB10                125, fp8 250
//
// On sm_100 we use mma.sync, which reaches little of that machine's peak. On sm_90 and newer,
// kernels start while the previous one ends; on the others, launch latency is fully exposed.
static constexpr GpuMachine kMachines[] = {
    {80, "A100", 108, 1.41, 2039, 2048, 2048, 128, 0.5, 0.2, 2},
    {89, "L40S", 142, 2.52, 864, 1024, 2048, 256, 0.5, 0.2, 2},
    {90, "H200", 132, 1.83, 4800, 4096, 8192, 256, 0.5, 0.15, 1},
    {100, "B200", 148, 1.85, 8000, 8192, 16384, 256, 0.2, 0.08, 1},
    {121, "GB10", 48, 2.42, 273, 1024, 2048, 256, 0.5, 0.2, 1}, // listed before 120, so that newer
                                                                // architectures do not fall back to
                                                                // it
    {120, "RTX PRO 6000", 188, 2.61, 1792, 1024, 2048, 256, 0.5, 0.2, 1},
};

const GpuMachine &gpuMachine(ComputeCapability capability) {
  const GpuMachine *found = std::begin(kMachines);
  for (const GpuMachine &machine : kMachines)
    if (machine.capability == capability)
      return machine;
    else if (machine.capability < capability)
      found = &machine;
  return *found;
}

const GpuMachine *gpuMachineFor(std::string_view target) {
  const auto named = gpuTargetNamed(target);
  return named ? &gpuMachine(named->capability) : nullptr;
}

} // namespace ingot::runtime
