//===- device.cuh - The whole vocabulary of a generated kernel -------------===//
//
// A kernel includes this header and nothing else, holds no asm, and compiles in two worlds:
//
//   NVRTC   device code; the words below are inline PTX                    (codegen/cuda/device)
//   clang   host code; the same words are calls of the emulator            (emulator/kernel)
//
// so its numbers and its synchronisation are tested without a GPU, and the text that was tested
// is the text that runs. Words that are arithmetic alone (math.cuh, fp8.cuh) are one
// piece of C++ for both.
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
// Options. NVRTC: --std=c++17 -default-device --fmad=false -I codegen/cuda/device. With fmad a
// product and a sum may become one rounding in one world and two in the other; kernels say
// fma_f32 where they mean it. clang: docs/gpu.md, "The emulator".
//
// DEVICE_ARCH is 800, 890, 900, 1000, 1200: what the kernel is compiled for, in both worlds.
//   DEVICE_HAS_E4M3     mma of fp8, conversions in hardware           (890 and newer)
//   DEVICE_HAS_TMA      mbarriers, bulk copies, clusters, PDL         (900 and newer)
//   DEVICE_HAS_WGMMA    wgmma                                         (sm_90a alone)
//   DEVICE_HAS_MAXNREG  setmaxnreg                                    (sm_90a, sm_100a, sm_120a)
// A word that the architecture lacks is not declared. pdl_launch and pdl_wait always are.
//===----------------------------------------------------------------------===//
#pragma once

#include "knobs.cuh"

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
