//===- emulator.cuh - The device vocabulary as host code -------------------===//
//
// What device.cuh includes when a kernel is compiled by clang: the words of codegen/cuda/device
// as calls of the emulator (emulator/host). What a word means is said there; here
// is only how it reaches the emulator. No header of the standard library: a kernel compiles in
// about 0.1 s.
//
// -DDEVICE_ARCH=800 … and -DDEVICE_ARCH_FEATURES (the "a" of sm_90a) choose which words exist.
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
