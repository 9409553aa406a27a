//===- emulator.cuh - The device primitives as host code --------------------===//
//
// device.cuh includes this file when clang compiles a kernel: it implements the primitives of
// codegen/cuda/device, where they are documented, as calls of the emulator (emulator/host). It
// includes no header of the standard library, so a kernel compiles in
// about 0.1 s.
//
// -DDEVICE_ARCH=800 … and -DDEVICE_ARCH_FEATURES (the "a" of sm_90a) choose which primitives exist.
//===----------------------------------------------------------------------===//
#pragma once

#include "emulator/host/KernelEntries.h"

#include "types.cuh"

#include "threads.cuh"

#include "numbers.cuh"

#include "memory.cuh"

#include "async_copy.cuh"
#include "cluster.cuh"
#include "matrix.cuh"
#include "wgmma.cuh"
