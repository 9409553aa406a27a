//===- LibcudaDriver.h - Drives a GPU through libcuda.so.1 ------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

namespace ingot::cuda {

struct LibcudaOptions {
  std::string library = "libcuda.so.1"; ///< tests use another library
  int ordinal = 0;                      ///< index of the GPU; CUDA_VISIBLE_DEVICES applies
};

/// Opens the library and the GPU. Each call of the driver leaves the GPU's primary context current
/// on the calling thread, whichever context was current before. Errors: E0710 no library; E0711 the
/// driver is older than kLeastDriver or lacks a function; E0712 no GPU; E0713 the driver does not
/// start.
Result<std::unique_ptr<Driver>> openLibcuda(const LibcudaOptions &options = {});

/// CUDA 13.0, the version of the compiler's NVRTC: its cubins need driver release 580.
constexpr int kLeastDriver = 13000;

} // namespace ingot::cuda
