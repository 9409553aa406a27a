//===- StateSnapshots.cpp - See StateSnapshots.h --------------------------===//
#include "runtime/kv/StateSnapshots.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

StateSnapshots::StateSnapshots(const FixedState &shape, int64_t sequenceCount, int64_t pageTokens,
                               int64_t mostTokens)
    : pool(shape.slots, /*pageTokens=*/0), pageTokens(pageTokens),
      snapshotTokens(shape.snapshotPages * pageTokens), sequences(size_t(sequenceCount)) {
  assert(shape.slots >= 2 && "one to read and one to write");
  assert(pageTokens >= 1 && snapshotTokens >= 1 && "snapshots are left at multiples of both");
  for (SequenceState &sequence : sequences) { // so that steps without drafts allocate nothing
    sequence.writes.reserve(size_t(mostTokens / pageTokens) + 2);
    sequence.borders.reserve(size_t(mostTokens / pageTokens) + 2);
  }
}

/// Returns the slot of the snapshot after `pages` pages; -1 if there is none.
int32_t StateSnapshots::find(std::span<const PageName> names, int64_t pages) const {
  assert(pages >= 1 && pages < int64_t(names.size()) && "the prefix has no name for that boundary");
  return pool.find(names[size_t(pages) - 1], names[size_t(pages)], {});
}

int64_t StateSnapshots::missing(std::span<const PageName> names, int64_t pages) const {
  assert((pages == 0 || has(names, pages)) && "the caller has looked for that snapshot");
  // A snapshot held only by the cache counts as available until the sequence slot holds it.
  const bool kept = pages > 0 && pool.holdersOf(find(names, pages)) == 0;
  return 1 + kept - available();
}

void StateSnapshots::promise(SequenceState &own, bool promised) {
  promises += int64_t(promised) - int64_t(own.promised);
  assert(promises >= 0 && promises <= pool.available() && "more slots are promised than there are");
  own.promised = promised;
}

void StateSnapshots::admit(int32_t sequence, std::span<const PageName> names, int64_t pages,
                           int64_t tokens) {
  SequenceState &own = sequences[size_t(sequence)];
  assert(own.current < 0 && missing(names, pages) <= 0);
  if (pages > 0)
    pool.retain(own.current = find(names, pages));
  own.cached = !names.empty();
  own.lastBorder = (tokens - 1) / pageTokens * pageTokens;
  promise(own, true);
}

int32_t StateSnapshots::adopt(int32_t sequence) {
  SequenceState &own = sequences[size_t(sequence)];
  assert(own.current < 0 && own.promised);
  promise(own, false);
  return own.current = pool.allocate();
}

void StateSnapshots::fork(int32_t parent, int32_t sequence) {
  const SequenceState &from = sequences[size_t(parent)];
  SequenceState &own = sequences[size_t(sequence)];
  assert(own.current < 0 && !own.promised && own.writes.empty() && own.borders.empty() &&
         "the child's sequence is still in use");
  own.current = from.current;
  own.cached = from.cached;
  own.lastBorder = from.lastBorder;
  if (own.current >= 0)
    pool.retain(own.current);
  if (available() > 0)
    promise(own, true);
}

/// Frees the slots that a step was to write, and restores the promise if it was used for one.
void StateSnapshots::forgetPlan(SequenceState &own) {
  for (const SnapshotWrite &write : own.writes)
    if (write.slot != own.current)
      pool.release(write.slot);
  own.writes.clear();
  if (own.planned)
    promise(own, true);
  own.planned = false;
}

void StateSnapshots::release(int32_t sequence) {
  SequenceState &own = sequences[size_t(sequence)];
  forgetPlan(own);
  promise(own, false);
  for (const SnapshotWrite &border : own.borders)
    pool.release(border.slot);
  own.borders.clear();
  if (own.current >= 0)
    pool.release(own.current);
  own.current = -1;
  own.cached = false;
}

int64_t StateSnapshots::releasable(int32_t sequence) const {
  const SequenceState &own = sequences[size_t(sequence)];
  return int64_t(own.promised) + (own.current >= 0 && pool.holdersOf(own.current) == 1);
}

bool StateSnapshots::wanted(const SequenceState &own, int64_t position) const {
  return own.cached && position % pageTokens == 0 &&
         (position % snapshotTokens == 0 || position == own.lastBorder);
}

/// Returns whether the current snapshot may be overwritten: it has no other holder, and no sequence can find it by
/// name.
bool StateSnapshots::mayReplace(const SequenceState &own) const {
  return own.current >= 0 && pool.holdersOf(own.current) == 1 && !pool.isNamed(own.current);
}

/// Takes a new slot, the promised one if there is a promise; -1 if there is none.
int32_t StateSnapshots::take(SequenceState &own) {
  assert(!own.planned && "the promised slot is used already");
  if (own.promised) {
    promise(own, false);
    own.planned = true;
  } else if (available() < 1) {
    return -1;
  }
  return pool.allocate();
}

bool StateSnapshots::extend(int32_t sequence, int64_t position, int64_t tokens) {
  assert(position >= 0 && tokens >= 1 && "a step writes a snapshot after its tokens");
  SequenceState &own = sequences[size_t(sequence)];
  forgetPlan(own);
  int32_t slot = own.current;
  if (mayReplace(own))
    promise(own, false);
  else
    slot = take(own);
  if (slot < 0) { // take the current snapshot from the cache, so that the step may overwrite it
    std::erase_if(own.borders, [&](const SnapshotWrite &border) {
      if (border.slot != own.current)
        return false;
      pool.release(border.slot);
      return true;
    });
    if (own.current >= 0 && pool.holdersOf(own.current) == 1 && pool.isNamed(own.current))
      pool.forget(own.current);
    if (!mayReplace(own))
      return false;
    slot = own.current;
  }
  const int64_t end = position + tokens;
  for (int64_t at = (position / pageTokens + 1) * pageTokens; at < end; at += pageTokens)
    if (wanted(own, at) && available() > 0)
      own.writes.push_back({at, pool.allocate()});
  own.writes.push_back({end, slot});
  return true;
}

int64_t StateSnapshots::propose(int32_t sequence, int64_t position, int64_t drafts) {
  SequenceState &own = sequences[size_t(sequence)];
  assert(own.writes.size() == 1 && own.writes.back().position == position + 1);
  SnapshotWrite &first = own.writes.back();
  const bool replaces = first.slot == own.current;
  drafts = std::min(drafts, available() - replaces);
  if (drafts <= 0)
    return 0;
  if (replaces) // keep the current snapshot, because the step may be rolled back and rerun
    first.slot = pool.allocate();
  for (int64_t i = 1; i <= drafts; ++i)
    own.writes.push_back({position + 1 + i, pool.allocate()});
  return drafts;
}

void StateSnapshots::commit(int32_t sequence, int64_t position) {
  SequenceState &own = sequences[size_t(sequence)];
  int32_t behind = -1;
  for (const SnapshotWrite &write : own.writes) {
    if (write.position == position)
      behind = write.slot;
    else if (write.position < position && wanted(own, write.position))
      own.borders.push_back(write);
    else if (write.slot != own.current)
      pool.release(write.slot);
  }
  assert(behind >= 0 && "no snapshot was written there");
  own.writes.clear();
  own.planned = false;
  if (behind != own.current && own.current >= 0)
    pool.release(own.current);
  own.current = behind;
  if (wanted(own, position)) {
    pool.retain(behind);
    own.borders.push_back({position, behind});
  }
}

void StateSnapshots::name(int32_t sequence, std::span<const PageName> names) {
  SequenceState &own = sequences[size_t(sequence)];
  std::erase_if(own.borders, [&](const SnapshotWrite &border) {
    assert(border.position >= pageTokens && border.position % pageTokens == 0 &&
           "only snapshots at page boundaries have names");
    const auto pages = size_t(border.position / pageTokens);
    if (pages >= names.size())
      return false;
    pool.name(border.slot, names[pages - 1], names[pages], {});
    pool.release(border.slot);
    return true;
  });
}

} // namespace ingot::runtime
