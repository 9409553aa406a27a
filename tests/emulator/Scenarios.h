//===- Scenarios.h - Typical uses of kernels, with their results --------------===//
//
// Each scenario runs the kernels of one file on small shapes with ragged edges, reused ring slots
// and both parities, and compares with scalar references unless `numbers` is false.
//===----------------------------------------------------------------------===//
#pragma once

#include "KernelSession.h"

namespace ingot::emulator {

using Scenario = void (*)(KernelSession &session, bool numbers);

void runGemv(KernelSession &session, bool numbers);
void runGemm(KernelSession &session, bool numbers);
void runStream(KernelSession &session, bool numbers);
void runWgmma(KernelSession &session, bool numbers);
void runGridPhases(KernelSession &session, bool numbers);
void runLastBlock(KernelSession &session, bool numbers);
void runClusterSum(KernelSession &session, bool numbers);
void runClusterRing(KernelSession &session, bool numbers);
void runTensorBox(KernelSession &session, bool numbers);
void runTensorRing(KernelSession &session, bool numbers);
void runUnwrittenRows(KernelSession &session, bool numbers);

} // namespace ingot::emulator
