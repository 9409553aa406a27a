//===- KvPool.cpp - Block tables, promises, sharing ------------------------===//
#include "runtime/kv/KvPool.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

KvPool::KvPool(std::vector<KvGroup> given, int64_t maxSeqs, int64_t context, int64_t pageTokens,
               int64_t mostTokens)
    : tokensPerPage(pageTokens), stride((context + pageTokens - 1) / pageTokens),
      taken(size_t(maxSeqs)), slotsLeft(maxSeqs) {
  assert(maxSeqs >= 1 && context >= 1 && mostTokens >= 1 && "no sequence could ever run");
  for (const KvGroup &one : given)
    group.push_back({PagePool(one.pages, pageTokens), one.window,
                     mostPagesHeld(one.window, context, pageTokens, mostTokens), 0,
                     std::vector<int32_t>(size_t(maxSeqs * stride)),
                     std::vector<Part>(size_t(maxSeqs)), std::vector<int32_t>(size_t(stride))});
}

int64_t KvPool::totalPages() const {
  int64_t sum = 0;
  for (const Group &own : group)
    sum += own.pool.total();
  return sum;
}

int64_t KvPool::pagesInUse() const {
  int64_t sum = 0;
  for (const Group &own : group)
    sum += own.pool.held();
  return sum;
}

int64_t KvPool::pagesCached() const {
  int64_t sum = 0;
  for (const Group &own : group)
    sum += own.pool.cached();
  return sum;
}

bool KvPool::fits(int64_t positions) const {
  return pagesFor(positions) <= stride && std::ranges::all_of(group, [&](const Group &own) {
           return std::min(pagesFor(positions), own.mostPages) <= own.pool.total();
         });
}

int64_t KvPool::match(const NamedPrefix &prefix) {
  if (prefix.names.empty())
    return 0;
  auto pages = std::min<int64_t>(int64_t(prefix.names.size()) - 1,
                                 int64_t(prefix.tokens.size()) / tokensPerPage);
  assert(pages <= stride && "a prefix beyond the context: the caller checks that");
  for (Group &own : group) {
    int64_t n = 0;
    for (; n < pages; ++n) {
      auto tokens = prefix.tokens.subspan(size_t(n * tokensPerPage), size_t(tokensPerPage));
      own.found[size_t(n)] =
          own.pool.find(prefix.names[size_t(n)], prefix.names[size_t(n) + 1], tokens);
      if (own.found[size_t(n)] < 0 && own.window == 0)
        break;
    }
    pages = std::min(pages, n);
  }
  // Pages before the window may be missing. Find the longest prefix with a complete last window.
  auto complete = [&](int64_t n) {
    return std::ranges::all_of(group, [&](const Group &own) {
      for (int64_t i = firstHeld(own, n * tokensPerPage); i < n; ++i)
        if (own.found[size_t(i)] < 0)
          return false;
      return true;
    });
  };
  while (pages > 0 && !complete(pages))
    --pages;
  return pages;
}

int64_t KvPool::promiseOf(const Group &own, const Part &part) const {
  int64_t room = own.window ? own.mostPages - (part.end - part.first) : stride;
  return std::max<int64_t>(0, std::min(part.promiseEnd - part.end, room));
}

void KvPool::promise(Group &own, Part &part, int64_t pages) {
  pages = std::clamp<int64_t>(pages, 0, promiseOf(own, part));
  own.promised += pages - part.promised;
  part.promised = pages;
  assert(own.promised >= pages && own.promised <= own.pool.available() &&
         "more pages are promised than there are");
}

int32_t KvPool::takeSlot() {
  auto slot = std::ranges::find(taken, false);
  assert(slot != taken.end() && "the caller has looked for a slot");
  *slot = true;
  --slotsLeft;
  return int32_t(slot - taken.begin());
}

KvPool::Admission KvPool::admit(int64_t shared, int64_t from, int64_t positions, int64_t spare) {
  assert(pagesFor(positions) <= stride && "beyond the context: the caller checks that");
  assert(shared >= 0 && shared * tokensPerPage <= from && from <= positions &&
         "it continues behind what it shares");
  if (slotsLeft == 0)
    return {};
  Admission refused;
  for (const Group &own : group) {
    Part part;
    part.first = firstHeld(own, from);
    part.end = std::max(part.first, shared);
    part.promiseEnd = pagesFor(positions);
    int64_t kept = 0; // shared pages that currently count as available
    for (int64_t i = part.first; i < part.end; ++i) {
      assert(own.found[size_t(i)] >= 0 && "match() has not found this page");
      kept += own.pool.holdersOf(own.found[size_t(i)]) == 0;
    }
    int64_t lacks = promiseOf(own, part) + kept + spare - (own.pool.available() - own.promised);
    refused.missing = std::max(refused.missing, lacks);
  }
  if (refused.missing > 0)
    return refused;
  int32_t slot = takeSlot();
  for (Group &own : group) {
    Part &part = own.parts[size_t(slot)];
    part.first = firstHeld(own, from);
    part.end = std::max(part.first, shared);
    part.promiseEnd = pagesFor(positions);
    for (int64_t i = part.first; i < part.end; ++i) {
      own.pool.retain(own.found[size_t(i)]);
      entry(own, slot, i) = own.found[size_t(i)];
    }
    promise(own, part, promiseOf(own, part));
  }
  return {slot, 0};
}

int32_t KvPool::fork(int32_t parent, int64_t positions) {
  assert(taken[size_t(parent)] && "the parent has no pages");
  if (slotsLeft == 0)
    return -1;
  int32_t slot = takeSlot();
  for (Group &own : group) {
    Part &part = own.parts[size_t(slot)];
    const Part &from = own.parts[size_t(parent)];
    part.first = from.first;
    part.end = part.promiseEnd = std::min(from.end, pagesFor(positions));
    assert(part.first <= part.end && "the window of the parent is beyond these positions");
    for (int64_t i = part.first; i < part.end; ++i) {
      int32_t page = entry(own, parent, i);
      own.pool.retain(page);
      entry(own, slot, i) = page;
    }
  }
  return slot;
}

bool KvPool::extend(int32_t slot, int64_t positions) {
  int64_t end = pagesFor(positions);
  assert(taken[size_t(slot)] && end <= stride && "a free slot, or beyond its row of the table");
  for (const Group &own : group) {
    const Part &part = own.parts[size_t(slot)];
    int64_t beyond = end - part.end - part.promised;
    if (beyond > 0 && beyond > own.pool.available() - own.promised)
      return false;
  }
  for (Group &own : group) {
    Part &part = own.parts[size_t(slot)];
    if (part.end >= end)
      continue;
    const int64_t left = part.promised - (end - part.end);
    for (; part.end < end; ++part.end)
      entry(own, slot, part.end) = own.pool.allocate();
    promise(own, part, left);
  }
  return true;
}

bool KvPool::isShared(int32_t slot, int64_t position) const {
  int64_t index = position / tokensPerPage;
  return std::ranges::any_of(group, [&](const Group &own) {
    return index < own.parts[size_t(slot)].end &&
           own.pool.holdersOf(own.table[size_t(slot * stride + index)]) > 1;
  });
}

bool KvPool::makeOwn(int32_t slot, int64_t position, PageMover *mover) {
  int64_t index = position / tokensPerPage;
  assert(std::ranges::all_of(group,
                             [&](const Group &own) {
                               const Part &part = own.parts[size_t(slot)];
                               return part.first <= index && index < part.end;
                             }) &&
         "a group holds no page of this position");
  for (const Group &own : group)
    if (own.pool.holdersOf(own.table[size_t(slot * stride + index)]) > 1 &&
        own.pool.available() - own.promised < 1)
      return false;
  for (size_t g = 0; g < group.size(); ++g) {
    Group &own = group[g];
    int32_t &page = entry(own, slot, index);
    if (own.pool.holdersOf(page) == 1)
      continue;
    int32_t fresh = own.pool.allocate();
    if (mover)
      mover->copy(g, page, fresh);
    own.pool.release(page);
    page = fresh;
  }
  return true;
}

void KvPool::name(int32_t slot, int64_t index, const NamedPrefix &prefix) {
  assert(index >= 0 && size_t(index) + 1 < prefix.names.size() && "the page has no name yet");
  auto tokens = prefix.tokens.subspan(size_t(index * tokensPerPage), size_t(tokensPerPage));
  for (Group &own : group)
    if (const Part &part = own.parts[size_t(slot)]; part.first <= index && index < part.end)
      own.pool.name(entry(own, slot, index), prefix.names[size_t(index)],
                    prefix.names[size_t(index) + 1], tokens);
}

void KvPool::retract(int32_t slot, int64_t positions) {
  const int64_t end = pagesFor(positions);
  for (Group &own : group) {
    Part &part = own.parts[size_t(slot)];
    const int64_t before = part.end;
    while (part.end > std::max(end, part.first)) {
      int32_t &page = entry(own, slot, --part.end);
      assert(own.pool.holdersOf(page) == 1 && !own.pool.isNamed(page) &&
             "pages of drafts are neither shared nor named");
      own.pool.release(page);
      page = 0;
    }
    if (part.end < before)
      promise(own, part, part.promised + before - part.end);
  }
}

void KvPool::trim(int32_t slot, int64_t position) {
  for (Group &own : group) {
    Part &part = own.parts[size_t(slot)];
    int64_t first = std::min(firstHeld(own, position), part.end);
    if (first <= part.first)
      continue;
    const int64_t before = own.pool.available();
    for (; part.first < first; ++part.first) {
      int32_t &page = entry(own, slot, part.first);
      own.pool.release(page);
      page = 0;
    }
    // The promise grows by the pages that became available; pages with other holders did not become available.
    promise(own, part, part.promised + own.pool.available() - before);
  }
}

void KvPool::release(int32_t slot) {
  assert(taken[size_t(slot)] && "released twice");
  for (Group &own : group) {
    Part &part = own.parts[size_t(slot)];
    // Releases the last pages first, so that they are evicted first among cached pages: a page cannot be
    // found without those before it.
    for (int64_t i = part.end; i-- > part.first;) {
      int32_t &page = entry(own, slot, i);
      own.pool.release(page);
      page = 0;
    }
    assert(part.promised <= own.promised && "the sum of promises is less than one of them");
    own.promised -= part.promised;
    part = {};
  }
  taken[size_t(slot)] = false;
  ++slotsLeft;
}

int64_t KvPool::releasable(int32_t slot, size_t g) const {
  const Part &part = partOf(g, slot);
  int64_t pages = part.promised;
  for (int64_t i = part.first; i < part.end; ++i)
    pages += group[g].pool.holdersOf(page(slot, g, i)) == 1;
  return pages;
}

} // namespace ingot::runtime
