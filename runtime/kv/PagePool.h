//===- PagePool.h - Pages of a KV group: held, cached, free ----------------===//
//
// A page is in one of three states:
//
//            allocate()                    release() by the last holder
//   free  ------------------>  held  ------------------------------------>  kept   if it has a name
//    ^                          ^  |                                          |
//    |     release(), no name   |  |            retain(): found again         |
//    +--------------------------|--+  <---------------------------------------+
//    +--------------------------------------------------------------------------  evicted
//
// Holders are counted, since a page may belong to many sequences. A full page gets a name (PrefixHash.h) by
// which later sequences find it, even after its last holder has ended. When no page is free, cached ("kept")
// pages are reused in LRU order. They are therefore as available as free ones, and the cache costs no pages.
//
// All memory is allocated in the constructor.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/PrefixHash.h"

#include <vector>

namespace ingot::runtime {

class PagePool {
public:
  PagePool(int64_t pages, int64_t pageTokens);

  int64_t total() const { return int64_t(pages.size()); }
  int64_t free() const { return int64_t(freeList.size()); }
  int64_t cached() const { return cachedPages; }
  int64_t held() const { return total() - free() - cached(); }
  /// Pages that allocate() can return.
  int64_t available() const { return free() + cached(); }
  /// Returns the number of leading pages that were ever allocated.
  int64_t touched() const { return touchedPages; }
  int32_t holdersOf(int32_t page) const { return pages[size_t(page)].holders; }

  /// Returns a page with one holder; available() must not be 0. Prefers the lowest free number, so that the
  /// used part of a pool stays dense, then the least recently used cached page, which loses its name.
  int32_t allocate();
  void retain(int32_t page); ///< adds a holder to a held or a cached page
  void release(int32_t page);

  /// Names a held, full page, so that it can be found. Does nothing if it has a name, or if another page has
  /// this name: two sequences computed the same page at the same time.
  void name(int32_t page, const PageName &parent, const PageName &name,
            std::span<const int32_t> tokens);
  bool isNamed(int32_t page) const { return pages[size_t(page)].named; }
  /// Removes the name of a held page, so that it is no longer found.
  void forget(int32_t page);
  /// Returns the page of that name, parent and tokens; -1 if there is none.
  int32_t find(const PageName &parent, const PageName &name, std::span<const int32_t> tokens) const;

private:
  struct Page {
    int32_t holders = 0;
    bool named = false;
    int32_t chain = -1;             ///< next page of the same bucket
    int32_t older = -1, newer = -1; ///< neighbours in the list of cached pages
    PageName parent, name;
  };

  int32_t &bucketOf(const PageName &name) { return buckets[name.low & (buckets.size() - 1)]; }
  void unlink(int32_t page); ///< removes it from the list of cached pages
  std::span<const int32_t> tokensOf(int32_t page) const {
    return {tokens.data() + size_t(page) * size_t(pageTokens), size_t(pageTokens)};
  }

  int64_t pageTokens;
  std::vector<int32_t> freeList; ///< a min-heap
  std::vector<Page> pages;
  std::vector<int32_t> tokens;  ///< [pages][pageTokens], of named pages
  std::vector<int32_t> buckets; ///< by name; -1: empty
  int32_t oldest = -1, newest = -1;
  int64_t cachedPages = 0, touchedPages = 0;
};

} // namespace ingot::runtime
