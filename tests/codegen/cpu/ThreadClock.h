//===- ThreadClock.h - CPU time of the calling thread ----------------------===//
//
// Measures kernels on a shared machine: time in which the thread did not run is not counted.
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
