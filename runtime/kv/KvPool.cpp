//===- KvPool.cpp - Page allocator and block table ------------------------===//
#include "runtime/kv/KvPool.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>

namespace ingot::runtime {

PageAllocator::PageAllocator(int64_t pages)
    : freeList(size_t(pages)), references(size_t(pages), 0) {
  std::iota(freeList.begin(), freeList.end(), 0); // rising: a min-heap already
}

int32_t PageAllocator::allocate() {
  assert(!freeList.empty());
  std::pop_heap(freeList.begin(), freeList.end(), std::greater<>());
  int32_t page = freeList.back();
  freeList.pop_back();
  references[size_t(page)] = 1;
  return page;
}

void PageAllocator::retain(int32_t page) {
  assert(references[size_t(page)] > 0 && "a free page has no holder to share it");
  ++references[size_t(page)];
}

void PageAllocator::release(int32_t page) {
  assert(references[size_t(page)] > 0 && "released more often than held");
  if (--references[size_t(page)] > 0)
    return;
  freeList.push_back(page); // capacity is that of the start: no allocation
  std::push_heap(freeList.begin(), freeList.end(), std::greater<>());
}

KvPool::KvPool(int64_t pages, int64_t maxSeqs, int64_t context, int64_t pageTokens)
    : allocator(pages), pageTokens(pageTokens), stride((context + pageTokens - 1) / pageTokens),
      state(size_t(maxSeqs)), table(size_t(maxSeqs * stride), 0) {}

int32_t KvPool::admit(int64_t positions) {
  int64_t wanted = pagesFor(positions);
  assert(wanted <= stride && "beyond the context: the caller checks that");
  if (wanted > availablePages())
    return -1;
  auto row = std::find_if(state.begin(), state.end(), [](const Row &r) { return !r.taken; });
  if (row == state.end())
    return -1;
  *row = {0, wanted, true};
  promised += wanted;
  return int32_t(row - state.begin());
}

void KvPool::extend(int32_t row, int64_t positions) {
  Row &own = state[size_t(row)];
  int64_t wanted = pagesFor(positions);
  assert(own.taken && wanted <= own.held + own.promised && "more than was admitted");
  for (; own.held < wanted; ++own.held, --own.promised, --promised)
    table[size_t(row * stride + own.held)] = allocator.allocate();
}

void KvPool::release(int32_t row) {
  Row &own = state[size_t(row)];
  assert(own.taken);
  for (int64_t i = 0; i < own.held; ++i) {
    int32_t &page = table[size_t(row * stride + i)];
    allocator.release(page);
    page = 0;
  }
  promised -= own.promised;
  own = {};
}

} // namespace ingot::runtime
