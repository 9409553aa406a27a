//===- SequenceMemory.cpp - See SequenceMemory.h ---------------------------===//
#include "runtime/kv/SequenceMemory.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

SequenceMemory::SequenceMemory(const MemoryShape &shape, PageMover *pageMover,
                               std::span<std::byte> swapMemory)
    : pool(shape.groups, shape.slots, shape.context, shape.pageTokens, shape.mostTokens),
      mover(pageMover), swap(pageMover ? swapMemory : std::span<std::byte>()) {
  assert(!shape.groups.empty() && "the first block table is that of every batch");
  for (size_t group = 0; group < pool.groups(); ++group)
    tableOf.push_back(pool.blockTable(group));
  if (shape.fixed.slots > 0) {
    assert(mover && "a page that is computed again needs a snapshot before it");
    states.emplace(shape.fixed, shape.slots, shape.pageTokens, shape.mostTokens);
  }
}

void SequenceMemory::begin(SequenceAllocation &own, int64_t positions,
                           std::optional<uint64_t> salt) {
  if (!salt)
    return;
  own.names.reserve(size_t(pool.pagesFor(positions)) + 1);
  own.names.push_back(hasher.root(*salt));
}

void SequenceMemory::begin(SequenceAllocation &own, const SequenceAllocation &parent) {
  own.names.reserve(parent.names.capacity());
  own.names.assign(parent.names.begin(), parent.names.end());
}

void SequenceMemory::end(SequenceAllocation &own, std::span<const int32_t> tokens) {
  if (own.slot >= 0)
    leave(own, tokens);
  swap.giveBack(own.saved);
  own.saved = {};
}

/// Returns the number of leading pages that are found. If there are fixed states, a snapshot must follow them.
/// At least one token remains to be computed.
int64_t SequenceMemory::sharedPages(SequenceAllocation &own, std::span<const int32_t> tokens) {
  if (!own.shares())
    return 0;
  const int64_t full = (int64_t(tokens.size()) - 1) / pool.pageTokens();
  chainNames(own, tokens, full);
  auto names = std::span<const PageName>(own.names).first(size_t(full) + 1);
  while (true) {
    const int64_t pages = pool.match({names, tokens});
    int64_t whole = pages;
    while (states && whole > 0 && !states->has(names, whole))
      --whole;
    if (whole == pages)
      return pages;
    names = names.first(size_t(whole) + 1);
  }
}

SequenceMemory::Admission SequenceMemory::admit(SequenceAllocation &own,
                                                std::span<const int32_t> tokens, int64_t positions,
                                                int64_t spare) {
  assert(own.slot < 0 && "it has a sequence slot already");
  assert(own.positions < int64_t(tokens.size()) && "the last token remains to be computed");
  const int64_t shared = sharedPages(own, tokens);
  const int64_t found = shared * pool.pageTokens();
  const bool loads = !own.saved.empty() && own.positions > found;
  const int64_t from = loads ? own.positions : found;
  const int64_t matchedPages = loads ? 0 : shared; // the cached snapshot after these pages is its
                                                   // first one
  if (states && freeSlots() > 0)
    if (const int64_t missing = states->missing(own.names, matchedPages); missing > 0)
      return {false, 0, missing};
  const KvPool::Admission admitted = pool.admit(shared, from, positions, spare);
  if (admitted.slot < 0)
    return {false, admitted.missing, 0};
  own.slot = admitted.slot;
  own.positions = from;
  own.found = found;
  own.named = shared;
  if (states)
    states->admit(own.slot, own.names, matchedPages, int64_t(tokens.size()));
  if (loads)
    load(own, shared);
  swap.giveBack(own.saved);
  own.saved = {};
  return {true, 0, 0};
}

void SequenceMemory::fork(const SequenceAllocation &parent, SequenceAllocation &child) {
  assert(parent.slot >= 0 && child.slot < 0 && "only the parent has a sequence slot");
  child.slot = pool.fork(parent.slot, parent.positions);
  assert(child.slot >= 0 && "the caller has looked for a slot");
  child.positions = parent.positions;
  child.named = parent.named;
  if (states)
    states->fork(parent.slot, child.slot);
}

void SequenceMemory::leave(SequenceAllocation &own, std::span<const int32_t> tokens) {
  assert(own.slot >= 0 && "it has no sequence slot to release");
  nameFullPages(own, tokens);
  pool.release(own.slot);
  if (states)
    states->release(own.slot);
  own.slot = -1;
  own.drafts = 0;
  if (own.saved.empty())
    own.positions = 0;
}

uint64_t SequenceMemory::bytesToSave(const SequenceAllocation &own) const {
  if (swap.total() == 0)
    return 0;
  const int64_t end = pool.pagesFor(own.positions);
  uint64_t bytes = 0;
  for (size_t g = 0; g < pool.groups(); ++g)
    bytes += uint64_t(end - pool.held(own.slot, g).first) * mover->pageBytes(g);
  if (states && own.positions > 0)
    bytes += mover->pageBytes(pool.groups());
  return bytes;
}

bool SequenceMemory::save(SequenceAllocation &own) {
  assert(own.slot >= 0 && own.saved.empty() && "a running sequence has nothing on the host");
  const uint64_t bytes = bytesToSave(own);
  own.saved = swap.take(bytes);
  if (own.saved.empty())
    return false;
  const int64_t end = pool.pagesFor(own.positions);
  std::byte *to = own.saved.data();
  for (size_t g = 0; g < pool.groups(); ++g)
    for (int64_t i = pool.held(own.slot, g).first; i < end; ++i, to += mover->pageBytes(g))
      mover->save(g, pool.page(own.slot, g, i), to);
  if (states) {
    assert(states->from(own.slot) >= 0 && "the computed positions have no snapshot");
    mover->save(pool.groups(), states->from(own.slot), to);
    to += mover->pageBytes(pool.groups());
  }
  assert(to == own.saved.data() + own.saved.size() && "bytesToSave() counts differently");
  ++done.saves;
  done.savedBytes += bytes;
  return true;
}

/// Loads the pages after the first `shared` from the host. The first page that the slot holds is the same as
/// when the pages were saved.
void SequenceMemory::load(SequenceAllocation &own, int64_t shared) {
  [[maybe_unused]] bool there = pool.extend(own.slot, own.positions);
  assert(there && "promised");
  const int64_t end = pool.pagesFor(own.positions);
  const std::byte *from = own.saved.data();
  for (size_t g = 0; g < pool.groups(); ++g)
    for (int64_t i = pool.held(own.slot, g).first; i < end; ++i, from += mover->pageBytes(g))
      if (i >= shared)
        mover->load(g, from, pool.page(own.slot, g, i));
  if (states) {
    mover->load(pool.groups(), from, states->adopt(own.slot));
    from += mover->pageBytes(pool.groups());
  }
  assert(from == own.saved.data() + own.saved.size() && "other pages were saved");
}

SequenceMemory::Room SequenceMemory::extend(SequenceAllocation &own, int64_t tokens) {
  assert(own.slot >= 0 && tokens >= 1 && "only a running sequence takes part in a step");
  retract(own);
  const int64_t inPage = own.positions % pool.pageTokens();
  if (inPage && pool.isShared(own.slot, own.positions)) {
    if (!pool.makeOwn(own.slot, own.positions, mover))
      return Room::None;
    if (!mover) {
      own.positions -= inPage;
      return Room::StepBack;
    }
    ++done.copiedPages;
  }
  if (!pool.extend(own.slot, own.positions + tokens))
    return Room::None;
  return !states || states->extend(own.slot, own.positions, tokens) ? Room::There : Room::None;
}

int64_t SequenceMemory::propose(SequenceAllocation &own, int64_t drafts) {
  assert(own.slot >= 0 && own.drafts == 0 && "extend() has forgotten earlier drafts");
  while (drafts > 0 && !pool.extend(own.slot, own.positions + 1 + drafts))
    --drafts;
  own.drafts = drafts;
  if (states && drafts > 0) // surplus pages are rolled back with the others
    drafts = states->propose(own.slot, own.positions, drafts);
  return drafts;
}

/// Rolls back the pages of drafts that were not accepted.
void SequenceMemory::retract(SequenceAllocation &own) {
  if (own.drafts > 0)
    pool.retract(own.slot, own.positions);
  own.drafts = 0;
}

void SequenceMemory::commit(SequenceAllocation &own, std::span<const int32_t> tokens,
                            int64_t count) {
  own.positions += count;
  assert(own.slot >= 0 && count >= 0 && own.positions <= int64_t(tokens.size()) &&
         "more positions are computed than the sequence has tokens");
  assert(pool.held(own.slot, 0).end >= pool.pagesFor(own.positions) &&
         "extend() has made no room for these tokens");
  retract(own);
  if (states)
    states->commit(own.slot, own.positions);
  nameFullPages(own, tokens);
  pool.trim(own.slot, own.positions);
}

/// Computes the names of the first `count` pages. All tokens of these pages must be known.
void SequenceMemory::chainNames(SequenceAllocation &own, std::span<const int32_t> tokens,
                                int64_t count) const {
  const int64_t size = pool.pageTokens();
  assert(own.shares() && count * size <= int64_t(tokens.size()) && "a name covers a whole page");
  for (auto i = int64_t(own.names.size()) - 1; i < count; ++i)
    own.names.push_back(
        hasher.next(own.names.back(), tokens.subspan(size_t(i * size), size_t(size))));
}

/// Names the pages that are now full in the pool, so that others can find them.
void SequenceMemory::nameFullPages(SequenceAllocation &own, std::span<const int32_t> tokens) {
  if (!own.shares())
    return;
  assert(!tokens.empty() && "a sequence begins with a prompt");
  const int64_t known = int64_t(tokens.size()) - (tokens.back() < 0);
  const int64_t full = std::min(own.positions, known) / pool.pageTokens();
  chainNames(own, tokens, full);
  for (; own.named < full; ++own.named)
    pool.name(own.slot, own.named, {own.names, tokens});
  if (states)
    states->name(own.slot, own.names);
}

bool SequenceMemory::mayWantMore(const SequenceAllocation &own, int64_t positions) const {
  return pool.pagesFor(positions) > pool.surePages(own.slot);
}

bool SequenceMemory::enoughIn(std::span<const SequenceAllocation *const> those,
                              const Admission &refused) const {
  int64_t snapshots = 0;
  for (const SequenceAllocation *one : those)
    snapshots += states ? states->releasable(one->slot) : 0;
  if (snapshots < refused.missingSnapshots)
    return false;
  for (size_t g = 0; g < pool.groups(); ++g) {
    int64_t pages = 0;
    for (const SequenceAllocation *one : those)
      pages += pool.releasable(one->slot, g);
    if (pages < refused.missing)
      return false;
  }
  return true;
}

int64_t SequenceMemory::unusedPositions(const SequenceAllocation &own) const {
  return pool.held(own.slot, 0).end * pool.pageTokens() - own.positions;
}

SequenceMemory::Counts SequenceMemory::counts() const {
  Counts now = done;
  now.hostBytesUsed = swap.inUse();
  return now;
}

} // namespace ingot::runtime
