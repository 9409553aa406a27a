//===- EmulatorDriver.h - The emulator as a GPU ------------------------------===//
//
// Kernels of a cuda-emulator code object are host code in one ELF shared object, which is loaded from
// memory. The functions that it calls are in libingot-cuda-emulator.so, which is also opened at run
// time. `ingot` does not link that library, so everything else works on a machine without it.
//
// All work runs immediately, on the calling thread. Only the order within a graph is free: at each
// launch its nodes run in a new random order that its edges allow, which exposes missing edges.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

namespace ingot::cuda {

struct EmulatorSetup {
  std::string library; ///< empty: libingot-cuda-emulator.so in ../lib or next to this program
  runtime::ComputeCapability capability = 90; ///< determines the limits of a launch
  int workers = 1;                            ///< threads
  uint32_t seed = 1;                          ///< of schedules and graph orders
  bool checked = false; ///< whether the engine's kernels were compiled with the emulator's checks
};

/// Opens the emulator. Error: E0723, exit code 4: the emulator is not installed.
Result<std::unique_ptr<Driver>> openEmulator(const EmulatorSetup &setup = {});

} // namespace ingot::cuda
