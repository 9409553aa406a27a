//===- EmulatorDriver.h - The emulator as a GPU ------------------------------===//
//
// Kernels of a cuda-emulator code object are host code in one ELF shared object. It is loaded
// from memory and takes what it calls from libingot-cuda-emulator.so, which is opened at run
// time as well: `ingot` does not link it, and a machine without it can do all the rest.
//
// Everything happens at once, in the calling thread's time; only the order of a graph is
// free: its nodes run in a random order that its edges allow, another one at each launch, so
// that a missing edge shows.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"

namespace ingot::cuda {

struct EmulatorSetup {
  std::string library; ///< empty: libingot-cuda-emulator.so in ../lib, or beside, this program
  runtime::ComputeCapability capability = 90; ///< limits of a launch
  int workers = 1;                            ///< threads
  uint32_t seed = 1;                          ///< of schedules and graph orders
  bool checked = false; ///< the engine's kernels were compiled with the emulator's checks
};

/// Errors: E0723, exit 4: there is no emulator.
Result<std::unique_ptr<Driver>> openEmulator(const EmulatorSetup &setup = {});

} // namespace ingot::cuda
