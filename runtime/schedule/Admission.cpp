//===- Admission.cpp - Who gets a row, and who gives one up ----------------===//
#include "runtime/schedule/Scheduler.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

using State = Sequence::State;

void Scheduler::admit() {
  while (Sequence *first = queue.front()) {
    KvPool::Admission admission = tryAdmit(*first);
    if (admission.row < 0 && !displaceFor(*first, admission))
      return; // nobody overtakes: a long request would starve
  }
}

/// Rows that would have to be free for it besides those that are.
int64_t Scheduler::rowsLacking(const Sequence &sequence) const {
  const SequenceGroup *group = sequence.group.get();
  if (group && group->kept() > 0)
    return 0; // one of those
  const int64_t needs = group && group->running == 0 ? group->rows : 1;
  return std::max<int64_t>(0, needs - (pool.freeRows() - keptRows));
}

/// Takes the sequence out of the queue if there are a row and pages for it.
KvPool::Admission Scheduler::tryAdmit(Sequence &sequence) {
  if (rowsLacking(sequence) > 0)
    return {};
  int64_t shared = 0;
  auto size = int64_t(sequence.tokens.size());
  if (sequence.options.cachePrefix) {
    int64_t pages = (size - 1) / pool.pageTokens(); // one token at least makes logits
    chainNames(sequence, pages);
    shared = pool.match({std::span(sequence.names).first(size_t(pages) + 1), sequence.tokens});
  }
  const int64_t found = shared * pool.pageTokens();
  const bool loads = !sequence.swapped.empty() && sequence.computed > found;
  const int64_t from = loads ? sequence.computed : found;
  auto wantsMore = std::ranges::count_if(active, [&](const Sequence *other) {
    return pool.pagesFor(other->positions) > pool.surePages(other->row);
  });
  if (sequence.group && sequence.group->running == 0 && !active.empty())
    wantsMore += sequence.group->rows - 1; // its forks, in the next step
  KvPool::Admission admission = pool.admit(shared, from, std::min(size + 1, sequence.positions),
                                           policy.sparePages * wantsMore);
  if (admission.row < 0)
    return admission;
  queue.remove(&sequence);
  if (!sequence.admitted && sequence.options.cachePrefix) {
    sequence.cachedTokens = found;
    counts.prefixQueries += uint64_t(sequence.prompt);
    counts.prefixHits += uint64_t(found);
  }
  sequence.row = admission.row;
  sequence.computed = from;
  sequence.named = shared;
  sequence.goal = size;
  if (loads) {
    loadFromHost(sequence, shared);
    if (sequence.pending() == 1)
      sequence.goal = from; // it decoded, and goes on with that
  }
  swap.giveBack(sequence.swapped);
  sequence.swapped = {};
  startRunning(sequence);
  return admission;
}

/// Preempts one sequence of a worse priority for one that waits, if those of worse priorities have
/// together what it lacks of rows and pages.
bool Scheduler::displaceFor(const Sequence &waiting, const KvPool::Admission &refused) {
  Sequence *victim = nullptr;
  const SequenceGroup *counted = nullptr; // a group's sequences stand side by side
  int64_t rows = 0;
  releasable.assign(pool.groups(), 0);
  for (Sequence *sequence : active) {
    if (queue.priorityOf(*sequence) <= queue.priorityOf(waiting) || sequence->wantsRows())
      continue;
    victim = sequence; // the last is the first to go
    ++rows;
    if (sequence->group && sequence->group.get() != counted) {
      counted = sequence->group.get();
      rows += counted->kept();
    }
    for (size_t g = 0; g < releasable.size(); ++g)
      releasable[g] += pool.releasable(sequence->row, g);
  }
  if (!victim || std::ranges::min(releasable) < refused.missing || rows < rowsLacking(waiting))
    return false;
  preempt(*victim);
  return true;
}

/// Preempts the last sequence that comes behind this one and is not in the planned batch. False:
/// there is none, and this one has to wait for those before it.
bool Scheduler::makeRoom(Sequence &sequence) {
  for (size_t i = active.size(); i-- > 0 && active[i] != &sequence;) {
    Sequence &victim = *active[i];
    if (victim.inStep || victim.wantsRows())
      continue;
    preempt(victim);
    return true;
  }
  return false;
}

/// When nobody can go on: preempts the last of those that have nothing to feed, whose rows and
/// pages others lack. False: there is none, or nothing to be done.
bool Scheduler::idleGivesWay() {
  auto pending = [](const Sequence *sequence) { return sequence->pending() > 0; };
  if (queue.size() == 0 && std::ranges::none_of(active, pending))
    return false;
  auto idle = std::find_if_not(active.rbegin(), active.rend(), pending);
  if (idle == active.rend())
    return false;
  preempt(**idle);
  return true;
}

void Scheduler::preempt(Sequence &sequence) {
  const bool feeds = sequence.pending() > 0;
  ++counts.preemptions;
  nameFullPages(sequence);
  if (!saveToHost(sequence))
    sequence.computed = 0;
  stopRunning(sequence);
  sequence.state = feeds ? State::Queued : State::Held;
  if (feeds)
    queue.push(&sequence);
}

/// Saves the pages of what is computed, if there is room for them and that takes less time than
/// computing them again.
bool Scheduler::saveToHost(Sequence &sequence) {
  if (swap.total() == 0 || sequence.computed == 0)
    return false;
  const int64_t end = pool.pagesFor(sequence.computed);
  uint64_t bytes = 0;
  for (size_t g = 0; g < pool.groups(); ++g)
    bytes += uint64_t(end - pool.held(sequence.row, g).first) * mover->pageBytes(g);
  double again = cost.predictPrompt(sequence.computed, limits.prefillChunk);
  if (2 * double(bytes) / policy.swapBytesPerSecond >= again)
    return false;
  sequence.swapped = swap.take(bytes);
  if (sequence.swapped.empty())
    return false;
  std::byte *to = sequence.swapped.data();
  for (size_t g = 0; g < pool.groups(); ++g)
    for (int64_t i = pool.held(sequence.row, g).first; i < end; ++i, to += mover->pageBytes(g))
      mover->save(g, pool.page(sequence.row, g, i), to);
  ++counts.swaps;
  counts.swappedBytes += bytes;
  return true;
}

/// Pages behind the `shared` first come from the host; the row begins where it did when they were
/// saved.
void Scheduler::loadFromHost(Sequence &sequence, int64_t shared) {
  [[maybe_unused]] bool there = pool.extend(sequence.row, sequence.computed);
  assert(there && "promised");
  const int64_t end = pool.pagesFor(sequence.computed);
  const std::byte *from = sequence.swapped.data();
  for (size_t g = 0; g < pool.groups(); ++g)
    for (int64_t i = pool.held(sequence.row, g).first; i < end; ++i, from += mover->pageBytes(g))
      if (i >= shared)
        mover->load(g, from, pool.page(sequence.row, g, i));
  assert(from == sequence.swapped.data() + sequence.swapped.size());
}

} // namespace ingot::runtime
