//===- AllocationCount.cpp - operator new that counts ---------------------===//
#include "tests/runtime/sample/AllocationCount.h"

#include "tests/Sanitizers.h"

#if !INGOT_THREAD_SANITIZER
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> allocations{0}, live{0}, failing{0};

void *operator new(size_t bytes) {
  int64_t number = allocations.fetch_add(1, std::memory_order_relaxed) + 1;
  void *memory =
      number == failing.load(std::memory_order_relaxed) ? nullptr : std::malloc(bytes ? bytes : 1);
  if (!memory)
    throw std::bad_alloc();
  live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
// The delete below frees memory that libraries allocate this way.
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}
void operator delete(void *memory) noexcept {
  live.fetch_sub(memory != nullptr, std::memory_order_relaxed);
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept { operator delete(memory); }

int64_t ingot::test::allocationCount() { return allocations.load(); }
int64_t ingot::test::liveAllocations() { return live.load(); }
bool ingot::test::failAllocation(int64_t n) {
  failing = n ? allocations.load() + n : 0;
  return true;
}
#else
int64_t ingot::test::allocationCount() { return -1; }
int64_t ingot::test::liveAllocations() { return 0; }
bool ingot::test::failAllocation(int64_t) { return false; }
#endif
