//===- KvPool.h - The KV pages of sequences --------------------------------===//
//
// A group is the set of layer slots with the same attention window. Each layer slot of a group has a pool
// with the same number of pages (KernelAbi.h), and a page number denotes the same positions in all of them. A
// group therefore has one PagePool and one block table. A running sequence has a sequence slot, the
// same row of the block tables in all groups:
//
//   block table             page 0    1    2    3    4    5    6    7
//   slot 0, A: [2 5 7 .]         .    .    AB   B    c    A    c    A
//   slot 1, B: [2 3 . .]    page 2: positions 0..31 of both sequences, which have a common prefix
//   slot 2:    [. . . .]    pages 4, 6: pages of an ended sequence, cached (c) for sequences with its prefix
//
// With a window W, attention looks back at most W - 1 positions: trim() frees older pages, and the group
// needs pages for a window rather than a context.
//
// Promises. When a sequence is admitted, its slot is promised the pages for a number of positions. Within the
// promise, extend() never fails. Beyond it, extend() needs available pages and may fail. In each group,
// available = free + cached - promised.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/KvGroup.h"
#include "runtime/kv/PageMover.h"
#include "runtime/kv/PagePool.h"

#include <algorithm>
#include <span>
#include <vector>

namespace ingot::runtime {

/// The names of a sequence's pages: names[0] is the root, and names[i + 1] is the name of page i. There may
/// be fewer names than pages of `tokens`; the other pages have no name yet.
struct NamedPrefix {
  std::span<const PageName> names;
  std::span<const int32_t> tokens;
};

class KvPool {
public:
  /// `maxSeqs` sequence slots of ceil(context / pageTokens) entries in each group. `mostTokens` bounds the
  /// tokens of one sequence in one step; it matters only for groups with a window.
  KvPool(std::vector<KvGroup> groups, int64_t maxSeqs, int64_t context, int64_t pageTokens,
         int64_t mostTokens);
  /// One group without a window.
  KvPool(int64_t pages, int64_t maxSeqs, int64_t context, int64_t pageTokens)
      : KvPool({{pages, 0}}, maxSeqs, context, pageTokens, context) {}

  int64_t pageTokens() const { return tokensPerPage; }
  int64_t pagesFor(int64_t positions) const {
    return (positions + tokensPerPage - 1) / tokensPerPage;
  }
  size_t groups() const { return group.size(); }
  const PagePool &pagesOf(size_t g) const { return group[g].pool; }
  /// Neither held nor promised.
  int64_t availablePages(size_t g = 0) const {
    return group[g].pool.available() - group[g].promised;
  }
  int64_t promisedPages(size_t g = 0) const { return group[g].promised; }
  // Sums over all groups.
  int64_t totalPages() const;
  int64_t pagesInUse() const;
  int64_t pagesCached() const;
  /// Returns whether a sequence of that many positions could ever run.
  bool fits(int64_t positions) const;

  int64_t slots() const { return int64_t(taken.size()); }
  int64_t freeSlots() const { return slotsLeft; }
  const int32_t *blockTable(size_t g = 0) const {
    return group[g].table.data();
  } ///< [slots][stride]
  int64_t blockTableStride() const { return stride; }

  /// Returns the largest number of leading pages after which a sequence can continue: in every group, all of
  /// them that are visible from the next position are found by name.
  int64_t match(const NamedPrefix &prefix);

  struct Admission {
    int32_t slot = -1;   ///< -1: refused for now
    int64_t missing = 0; ///< pages lacking in the group that lacks most; 0: no slot is free
  };
  /// Takes a sequence slot that continues at position `from` and is promised pages up to `positions`, if
  /// `spare` further pages stay available. The first `shared` pages are shared; they are the result of a
  /// match() immediately before.
  Admission admit(int64_t shared, int64_t from, int64_t positions, int64_t spare = 0);
  /// Admits a sequence that begins at 0 and shares nothing. Returns its slot; -1: refused for now.
  int32_t admit(int64_t positions) { return admit(0, 0, positions).slot; }
  /// Takes a sequence slot that shares the pages of another for positions [0, positions) and has no promise.
  /// Returns -1 if no slot is free.
  int32_t fork(int32_t slot, int64_t positions);

  /// Allocates pages for positions [0, positions) of the slot. Fails, changing nothing, if the promise does
  /// not cover them and a group has none available; never fails within the promise.
  bool extend(int32_t slot, int64_t positions);
  /// Returns whether the page of `position` has another holder, and so must not be written.
  bool isShared(int32_t slot, int64_t position) const;
  /// Replaces the slot's page at that position by a private one, with the same contents if `mover` is not
  /// null, else with undefined contents. Fails, changing nothing, if no page is available.
  bool makeOwn(int32_t slot, int64_t position, PageMover *mover);
  /// Names the slot's page `index`; prefix.names must have at least index + 2 entries.
  void name(int32_t slot, int64_t index, const NamedPrefix &prefix);
  /// Rolls back to `positions`: frees later pages, which count towards the promise again. They must come
  /// from extend(), and be neither named nor shared.
  void retract(int32_t slot, int64_t positions);
  /// Frees the pages that are no longer visible when the next token is at `position`.
  void trim(int32_t slot, int64_t position);
  /// Frees the pages, the promise and the slot.
  void release(int32_t slot);

  /// Pages [first, end) of the slot in the group; earlier ones are outside the window.
  struct Held {
    int64_t first, end;
  };
  Held held(int32_t slot, size_t g) const {
    const Part &part = partOf(g, slot);
    return {part.first, part.end};
  }
  int32_t page(int32_t slot, size_t g, int64_t index) const {
    return group[g].table[size_t(slot * stride + index)];
  }
  /// Returns the number of pages that a slot holds or is promised, in the first group.
  int64_t surePages(int32_t slot) const {
    const Part &part = partOf(0, slot);
    return std::max(part.end, part.promiseEnd);
  }
  /// Returns the number of pages that release() would make available in the group.
  int64_t releasable(int32_t slot, size_t g) const;

private:
  struct Part {                 ///< state of a sequence slot in a group
    int64_t first = 0, end = 0; ///< pages in the table
    int64_t promiseEnd = 0;
    int64_t promised = 0; ///< further pages that it may take
  };
  struct Group {
    PagePool pool;
    int64_t window, mostPages;
    int64_t promised = 0;       ///< sum over slots
    std::vector<int32_t> table; ///< unused entries are 0: a valid page, never read
    std::vector<Part> parts;    ///< [slots]
    std::vector<int32_t> found; ///< result of match()
  };

  const Part &partOf(size_t g, int32_t slot) const { return group[g].parts[size_t(slot)]; }
  int32_t &entry(Group &own, int32_t slot, int64_t index) {
    return own.table[size_t(slot * stride + index)];
  }
  int64_t firstHeld(const Group &own, int64_t position) const {
    return firstPageHeld(own.window, position, tokensPerPage);
  }
  int64_t promiseOf(const Group &own, const Part &part) const;
  /// Promises that many pages, or as many as the slot can use.
  void promise(Group &own, Part &part, int64_t pages);
  int32_t takeSlot();

  int64_t tokensPerPage, stride;
  std::vector<Group> group;
  std::vector<bool> taken; ///< [slots]
  int64_t slotsLeft;
};

} // namespace ingot::runtime
