//===- FakeGpuProgram.h - The fake model for the fake GPU ---------------------===//
//
// FakeGpuKernels.c as GPU code of the engine that FakeEngine.h writes, and the library that
// runs it. fakeLogits() says what must come out.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/Driver.h"
#include "tests/runtime/device/FakeEngine.h"
#include "tests/runtime/device/cuda/FakeLibcuda.h"

namespace ingot::test {

/// `targets`: "cuda:sm_90a", "cuda:compute_80". With `alone` the engine has no CPU code,
/// with `greedy` its GPU program finds greedy ids.
FakeOptions withGpuProgram(std::vector<std::string> targets, bool alone = false,
                           bool greedy = false);

/// The library, for openLibcuda().
std::string fakeLibcuda();
/// Its record, zeroed.
FakeCuda &freshFakeCuda();
/// The record as it is.
FakeCuda &fakeCuda();

} // namespace ingot::test
