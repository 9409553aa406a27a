//===- FakeGpuProgram.h - The fake model for the fake GPU ---------------------===//
//
// Adds FakeGpuKernels.c as GPU code to the engine that FakeEngine.h writes, and provides the library
// that runs it. fakeLogits() gives the expected result.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/device/cuda/Driver.h"
#include "tests/runtime/device/FakeEngine.h"
#include "tests/runtime/device/cuda/FakeLibcuda.h"

namespace ingot::test {

/// Returns options for an engine with a GPU program. `targets` are names such as "cuda:sm_90a" and "cuda:compute_80".
/// With `alone` the engine has no CPU code. With `greedy` its GPU program finds greedy ids; with `draws` it also
/// samples ids.
FakeOptions withGpuProgram(std::vector<std::string> targets, bool alone = false,
                           bool greedy = false, bool draws = false);

/// Attention splits beyond one per tile.
constexpr uint32_t kFakeShares = 3;

/// Returns the id that the fake kernel draws if `best` is the id of the largest logit. It is not a
/// sample of a distribution, but it depends on every parameter. `position` is the new token's.
int32_t fakeDraw(int32_t best, const RowSampling &how, int64_t position);

/// Returns the path of the library, for openLibcuda().
std::string fakeLibcuda();
/// Zeroes the library's record and returns it.
FakeCuda &freshFakeCuda();
/// Returns the library's record unchanged.
FakeCuda &fakeCuda();

} // namespace ingot::test
