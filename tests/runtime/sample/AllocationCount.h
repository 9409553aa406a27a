//===- AllocationCount.h - How often this program took memory -------------===//
//
// Replaces operator new, so that "nothing is allocated per token" and "no memory at
// any moment is an error, not a crash" are tests.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot::test {

/// Calls of operator new so far, on all threads; -1 where it cannot be replaced
/// (ThreadSanitizer brings its own).
int64_t allocationCount();

/// Those that were not given back.
int64_t liveAllocations();

/// The n-th call from now on throws std::bad_alloc; 0: none does. False where operator new
/// cannot be replaced.
bool failAllocation(int64_t n);

} // namespace ingot::test
