//===- AllocationCount.cpp - operator new that counts ---------------------===//
#include "tests/runtime/sample/AllocationCount.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INGOT_OWN_NEW 0
#endif
#endif
#ifndef INGOT_OWN_NEW
#define INGOT_OWN_NEW 1
#endif

#if INGOT_OWN_NEW
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> allocations{0};

void *operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

int64_t ingot::test::allocationCount() { return allocations.load(); }
#else
int64_t ingot::test::allocationCount() { return -1; }
#endif
