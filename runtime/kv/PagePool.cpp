//===- PagePool.cpp - See PagePool.h ---------------------------------------===//
#include "runtime/kv/PagePool.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <numeric>

namespace ingot::runtime {

PagePool::PagePool(int64_t count, int64_t pageTokens)
    : pageTokens(pageTokens), freeList(size_t(count)), pages(size_t(count)),
      tokens(size_t(count * pageTokens)), buckets(std::bit_ceil(size_t(count) + 1), -1) {
  assert(count >= 0 && count <= INT32_MAX && "page numbers have 32 bits");
  assert(pageTokens >= 0 && "a page holds tokens, or none");
  std::iota(freeList.begin(), freeList.end(), 0); // ascending, so already a min-heap
}

int32_t PagePool::allocate() {
  int32_t page = oldest;
  if (!freeList.empty()) {
    std::pop_heap(freeList.begin(), freeList.end(), std::greater<>());
    page = freeList.back();
    freeList.pop_back();
  } else {
    assert(page >= 0 && "available() is 0");
    unlink(page);
    forget(page);
  }
  assert(pages[size_t(page)].holders == 0 && "a page that is available has a holder");
  assert(!pages[size_t(page)].named && "a page that is allocated anew is still found by its name");
  pages[size_t(page)].holders = 1;
  touchedPages = std::max<int64_t>(touchedPages, page + 1);
  return page;
}

void PagePool::retain(int32_t page) {
  assert(page >= 0 && page < total() && "not a page of this pool");
  Page &own = pages[size_t(page)];
  assert((own.holders > 0 || own.named) && "a free page has nothing to share");
  if (own.holders++ == 0)
    unlink(page);
}

void PagePool::release(int32_t page) {
  assert(page >= 0 && page < total() && "not a page of this pool");
  Page &own = pages[size_t(page)];
  assert(own.holders > 0 && "released more often than held");
  if (--own.holders > 0)
    return;
  if (!own.named) {
    assert(free() < total() && "a page is in the list of free ones twice");
    freeList.push_back(page); // never allocates: the initial capacity suffices
    std::push_heap(freeList.begin(), freeList.end(), std::greater<>());
    return;
  }
  own.older = newest;
  own.newer = -1;
  (newest >= 0 ? pages[size_t(newest)].newer : oldest) = page;
  newest = page;
  ++cachedPages;
}

void PagePool::unlink(int32_t page) {
  Page &own = pages[size_t(page)];
  assert(cachedPages > 0 && own.named && "only named pages are in the list of cached ones");
  assert((own.older >= 0 || oldest == page) && (own.newer >= 0 || newest == page) &&
         "the page is not in the list of cached ones");
  (own.older >= 0 ? pages[size_t(own.older)].newer : oldest) = own.newer;
  (own.newer >= 0 ? pages[size_t(own.newer)].older : newest) = own.older;
  --cachedPages;
}

void PagePool::forget(int32_t page) {
  Page &own = pages[size_t(page)];
  assert(own.named && "there is no name to remove");
  int32_t *link = &bucketOf(own.name);
  while (*link != page) {
    assert(*link >= 0 && "a named page is not in the bucket of its name");
    link = &pages[size_t(*link)].chain;
  }
  *link = own.chain;
  own.named = false;
}

void PagePool::name(int32_t page, const PageName &parent, const PageName &name,
                    std::span<const int32_t> content) {
  Page &own = pages[size_t(page)];
  assert(own.holders > 0 && int64_t(content.size()) == pageTokens);
  if (own.named || find(parent, name, content) >= 0)
    return;
  own.parent = parent;
  own.name = name;
  own.named = true;
  std::copy(content.begin(), content.end(), tokens.begin() + int64_t(page) * pageTokens);
  int32_t &bucket = bucketOf(name);
  own.chain = bucket;
  bucket = page;
}

int32_t PagePool::find(const PageName &parent, const PageName &name,
                       std::span<const int32_t> content) const {
  // The name identifies a page except for collisions, so parent and tokens are compared too.
  for (int32_t page = buckets[name.low & (buckets.size() - 1)]; page >= 0;
       page = pages[size_t(page)].chain) {
    const Page &own = pages[size_t(page)];
    if (own.name == name && own.parent == parent && std::ranges::equal(tokensOf(page), content))
      return page;
  }
  return -1;
}

} // namespace ingot::runtime
