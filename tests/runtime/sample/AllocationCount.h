//===- AllocationCount.h - Counts this program's allocations --------------===//
//
// Replaces operator new, so that two properties can be tested: nothing is allocated per
// token, and an allocation failure at any point is an error, not a crash.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot::test {

/// Returns the calls of operator new so far, on all threads; -1 if it cannot be replaced
/// (ThreadSanitizer has its own).
int64_t allocationCount();

/// Returns the number of allocations that have not been freed.
int64_t liveAllocations();

/// Makes the n-th call from now throw std::bad_alloc. With 0, no call throws. Returns false if operator new cannot be
/// replaced.
bool failAllocation(int64_t n);

} // namespace ingot::test
