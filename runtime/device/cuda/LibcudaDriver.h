//===- LibcudaDriver.h - A GPU behind libcuda.so.1 --------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

namespace ingot::cuda {

struct LibcudaOptions {
  std::string library = "libcuda.so.1"; ///< tests put another one here
  int ordinal = 0;                      ///< which GPU; CUDA_VISIBLE_DEVICES applies
};

/// Opens the library and the GPU. A call of the driver leaves the GPU's primary context current on
/// its thread, whatever was current before. Errors: E0710 no library, E0711 the driver is older
/// than kLeastDriver or lacks a function, E0712 no GPU, E0713 the driver does not start.
Result<std::unique_ptr<Driver>> openLibcuda(const LibcudaOptions &options = {});

/// CUDA 13.0, which the compiler's NVRTC is of: its cubins need a driver of release 580.
constexpr int kLeastDriver = 13000;

} // namespace ingot::cuda
