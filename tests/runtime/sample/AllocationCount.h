//===- AllocationCount.h - How often this program took memory -------------===//
//
// Replaces operator new, so that "nothing is allocated per token" is a test.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ingot::test {

/// Calls of operator new so far, on all threads; -1 where it cannot be replaced
/// (ThreadSanitizer brings its own).
int64_t allocationCount();

} // namespace ingot::test
