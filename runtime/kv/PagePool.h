//===- PagePool.h - The pages of one KV group: held, kept, free ------------===//
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
// Holders are counted: a page may belong to many sequences. A full page gets a name
// (PrefixHash.h) by which later sequences find it, also after its last holder has gone. Kept
// pages are given out again when none is free, the one that was used longest ago first. So they
// are as available as free ones, and a cache costs nobody a page.
//
// All memory is taken at the start.
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
  int64_t kept() const { return keptPages; }
  int64_t held() const { return total() - free() - kept(); }
  /// Pages that allocate() can give out.
  int64_t available() const { return free() + kept(); }
  /// Pages from the first on that have been given out, ever.
  int64_t touched() const { return touchedPages; }
  int32_t holdersOf(int32_t page) const { return pages[size_t(page)].holders; }

  /// With one holder; available() must not be 0. Low numbers first, so that the used part of a
  /// pool stays dense, then the oldest kept page, which loses its name.
  int32_t allocate();
  void retain(int32_t page); ///< one more holder, of a held or a kept page
  void release(int32_t page);

  /// Names a held, full page, so that it is found again. Nothing if it has a name, or another page
  /// has this one: two sequences computed the same at the same time.
  void name(int32_t page, const PageName &parent, const PageName &name,
            std::span<const int32_t> tokens);
  bool isNamed(int32_t page) const { return pages[size_t(page)].named; }
  /// Nobody finds a held page any more.
  void forget(int32_t page);
  /// The page of that name, with that parent and those tokens; -1: none.
  int32_t find(const PageName &parent, const PageName &name, std::span<const int32_t> tokens) const;

private:
  struct Page {
    int32_t holders = 0;
    bool named = false;
    int32_t chain = -1;             ///< next page of the same bucket
    int32_t older = -1, newer = -1; ///< among the kept
    PageName parent, name;
  };

  int32_t &bucketOf(const PageName &name) { return buckets[name.low & (buckets.size() - 1)]; }
  void unlink(int32_t page); ///< from the kept
  std::span<const int32_t> tokensOf(int32_t page) const {
    return {tokens.data() + size_t(page) * size_t(pageTokens), size_t(pageTokens)};
  }

  int64_t pageTokens;
  std::vector<int32_t> freeList; ///< a min-heap
  std::vector<Page> pages;
  std::vector<int32_t> tokens;  ///< [pages][pageTokens], of named pages
  std::vector<int32_t> buckets; ///< by name; -1: empty
  int32_t oldest = -1, newest = -1;
  int64_t keptPages = 0, touchedPages = 0;
};

} // namespace ingot::runtime
