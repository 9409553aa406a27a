//===- KvPool.h - Which KV pages a sequence has ----------------------------===//
//
// A group is the layer slots with the same attention window. Each slot of a group has a pool of
// the same number of pages (KernelAbi.h), and a page number means the same positions in all of
// them. So a group has one PagePool and one block table, in which a sequence that runs has a seat,
// the same row in all groups:
//
//   block table            page 0    1    2    3    4    5    6    7
//   seat 0: [2 5 7 .]           .    .    A    AB   .    A    .    A
//   seat 1: [2 3 . .]      page 2: positions 0..31 of both seats, which begin alike
//   seat 2: [6 4 . .]      pages 4, 6: kept for whoever begins like a sequence that has gone
//
// Beyond a window W nobody looks back further than W - 1 positions: trim() gives those pages back,
// and the group needs pages for a window, not for a context.
//
// Arithmetic. A seat is promised pages for the positions it was admitted with: those are there
// whenever extend() asks for them. Beyond its promise a seat takes what is available, and
// extend() may fail. `available` = free + kept - promised, in each group.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/KvGroup.h"
#include "runtime/kv/PageMover.h"
#include "runtime/kv/PagePool.h"

#include <algorithm>
#include <span>
#include <vector>

namespace ingot::runtime {

/// A sequence's pages by name: names[0] is the root, names[i + 1] that of its i-th page. They may
/// be fewer than the pages of `tokens`; the rest has no name yet.
struct NamedPrefix {
  std::span<const PageName> names;
  std::span<const int32_t> tokens;
};

class KvPool {
public:
  /// `maxSeqs` seats of ceil(context / pageTokens) entries in each group. `mostTokens`: of one
  /// sequence in one step; matters to groups with a window.
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
  // Over all groups.
  int64_t totalPages() const;
  int64_t pagesInUse() const;
  int64_t pagesKept() const;
  /// Whether a sequence of so many positions could ever run.
  bool fits(int64_t positions) const;

  int64_t seats() const { return int64_t(taken.size()); }
  int64_t freeSeats() const { return seatsLeft; }
  const int32_t *blockTable(size_t g = 0) const {
    return group[g].table.data();
  } ///< [seats][stride]
  int64_t blockTableStride() const { return stride; }

  /// Pages at the start that are found by name and from which a sequence can go on: in every group
  /// all that the position behind them looks at is there.
  int64_t match(const NamedPrefix &prefix);

  struct Admission {
    int32_t seat = -1;   ///< -1: not now
    int64_t missing = 0; ///< pages, of the group that lacks most; 0: a seat is missing
  };
  /// A seat that goes on at position `from` and is promised pages up to `positions`, beside which
  /// `spare` stay available. Its first `shared` pages (as match() said, just now) are shared.
  Admission admit(int64_t shared, int64_t from, int64_t positions, int64_t spare = 0);
  /// For a sequence that begins at 0 and shares nothing; -1: not now.
  int32_t admit(int64_t positions) { return admit(0, 0, positions).seat; }
  /// A seat with the pages of another for positions [0, positions), which both hold from now on, and
  /// no promise; -1: no seat.
  int32_t fork(int32_t seat, int64_t positions);

  /// Pages for positions [0, positions) of the seat. Fails, changing nothing, if the promise does
  /// not cover it and a group has none available; never at or below what was promised.
  bool extend(int32_t seat, int64_t positions);
  /// Whether the page that holds `position` has another holder, and so must not be written.
  bool isShared(int32_t seat, int64_t position) const;
  /// Gives the seat a page of its own there, with the same content if `mover` is not null and
  /// nothing in it otherwise. Fails, changing nothing, if none is available.
  bool makeOwn(int32_t seat, int64_t position, PageMover *mover);
  /// Names the `index`-th page of the seat; prefix.names has at least index + 2.
  void name(int32_t seat, int64_t index, const NamedPrefix &prefix);
  /// Nothing behind `positions` counts: gives back the pages there, which count to the promise
  /// again. extend() took them, and nobody has named or shared them.
  void retract(int32_t seat, int64_t positions);
  /// The next token is at `position`: gives back pages that it cannot see.
  void trim(int32_t seat, int64_t position);
  /// Gives pages, promise and seat back.
  void release(int32_t seat);

  /// Pages [first, end) of the seat in the group; entries before are behind the window.
  struct Held {
    int64_t first, end;
  };
  Held held(int32_t seat, size_t g) const {
    const Part &part = partOf(g, seat);
    return {part.first, part.end};
  }
  int32_t page(int32_t seat, size_t g, int64_t index) const {
    return group[g].table[size_t(seat * stride + index)];
  }
  /// Pages of a seat of which it is sure: those it has, and those promised (of the first group).
  int64_t surePages(int32_t seat) const {
    const Part &part = partOf(0, seat);
    return std::max(part.end, part.promiseEnd);
  }
  /// What release() would make available in the group.
  int64_t releasable(int32_t seat, size_t g) const;

private:
  struct Part {                 ///< of a seat in a group
    int64_t first = 0, end = 0; ///< pages in the table
    int64_t promiseEnd = 0;
    int64_t promised = 0; ///< further ones it may take
  };
  struct Group {
    PagePool pool;
    int64_t window, mostPages;
    int64_t promised = 0;       ///< sum over seats
    std::vector<int32_t> table; ///< unused entries are 0: a valid page, never read
    std::vector<Part> parts;    ///< [seats]
    std::vector<int32_t> found; ///< by match()
  };

  const Part &partOf(size_t g, int32_t seat) const { return group[g].parts[size_t(seat)]; }
  int32_t &entry(Group &own, int32_t seat, int64_t index) {
    return own.table[size_t(seat * stride + index)];
  }
  int64_t firstHeld(const Group &own, int64_t position) const {
    return firstPageHeld(own.window, position, tokensPerPage);
  }
  int64_t promiseOf(const Group &own, const Part &part) const;
  /// So many pages, or as many as it can want.
  void promise(Group &own, Part &part, int64_t pages);
  int32_t takeSeat();

  int64_t tokensPerPage, stride;
  std::vector<Group> group;
  std::vector<bool> taken; ///< [seats]
  int64_t seatsLeft;
};

} // namespace ingot::runtime
