//===- FakeGpuProgram.h - The fake model for the fake GPU ---------------------===//
//
// FakeGpuKernels.c as GPU code of the engine that FakeEngine.h writes, and the library that
// runs it. fakeLogits() says what must come out.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/device/cuda/Driver.h"
#include "tests/runtime/device/FakeEngine.h"
#include "tests/runtime/device/cuda/FakeLibcuda.h"

namespace ingot::test {

/// `targets`: "cuda:sm_90a", "cuda:compute_80". With `alone` the engine has no CPU code,
/// with `greedy` its GPU program finds greedy ids, with `draws` it draws others as well.
FakeOptions withGpuProgram(std::vector<std::string> targets, bool alone = false,
                           bool greedy = false, bool draws = false);

/// Shares of attention beyond one a tile.
constexpr uint32_t kFakeShares = 3;

/// What the fake kernel draws where `best` is the id of the largest logit: no distribution, but
/// every part of what it is told counts. `position` is the new token's.
int32_t fakeDraw(int32_t best, const RowSampling &how, int64_t position);

/// The library, for openLibcuda().
std::string fakeLibcuda();
/// Its record, zeroed.
FakeCuda &freshFakeCuda();
/// The record as it is.
FakeCuda &fakeCuda();

} // namespace ingot::test
