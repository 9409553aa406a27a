//===- ThreadClock.h - CPU time of the calling thread ----------------------===//
//
// The clock measures kernels on a shared machine, so it does not count time in which the thread did not run.
//===----------------------------------------------------------------------===//
#pragma once

#include <ctime>

namespace ingot::codegen::cpu::test {

/// Returns seconds.
inline double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

} // namespace ingot::codegen::cpu::test
