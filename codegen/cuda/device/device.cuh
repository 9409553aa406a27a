//===- device.cuh - All primitives of generated kernels --------------------===//
//
// A kernel needs no other header for its primitives, contains no asm, and compiles for two targets:
//
//   NVRTC   device code; the primitives below are inline PTX               (codegen/cuda/device)
//   clang   host code; the same primitives call the emulator               (emulator/kernel)
//
// In this way, a kernel's results and synchronisation are tested without a GPU, and the tested text is the text that
// runs on a GPU. Purely arithmetic primitives (math.cuh, fp8.cuh) have one C++ implementation for both targets.
//
//   #include "device.cuh"
//   KERNEL void __launch_bounds__(128) scale(float *y, const float *x, float by, u32 n) {
//     pdl_launch();
//     pdl_wait();
//     const u32 i = blockIdx.x * 128 + threadIdx.x;
//     if (i < n)
//       y[i] = x[i] * by;
//   }
//   EXPORT_KERNEL(scale)
//
// Options. NVRTC: --std=c++17 -default-device --fmad=false -I codegen/cuda/device. With fmad a multiplication and an
// addition might be rounded once for one target and twice for the other. Kernels call fma_f32 if they need a fused
// operation. clang: docs/gpu-emulator.md.
//
// DEVICE_ARCH is 800, 890, 900, 1000 or 1200: the architecture that the kernel is compiled for, on both
// targets.
//   DEVICE_HAS_E4M3     mma of fp8, conversions in hardware           (890 and newer)
//   DEVICE_HAS_TMA      mbarriers, bulk copies, clusters, PDL         (900 and newer)
//   DEVICE_HAS_WGMMA    wgmma                                         (sm_90a alone)
//   DEVICE_HAS_MAXNREG  setmaxnreg                                    (sm_90a, sm_100a, sm_120a)
// A primitive that the architecture lacks is not declared. pdl_launch and pdl_wait always are.
//===----------------------------------------------------------------------===//
#pragma once

#include "tuning.cuh"

#ifdef __CUDACC__
#include "types.cuh"

#include "threads.cuh"

#include "numbers.cuh"

#include "memory.cuh"

#include "async_copy.cuh"
#include "cluster.cuh"
#include "matrix.cuh"
#include "wgmma.cuh"
#else
#include "emulator/kernel/emulator.cuh"
#endif

#include "fp8.cuh"
#include "math.cuh"
#include "reduce.cuh"
#include "swizzle.cuh"
