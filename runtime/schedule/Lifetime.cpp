//===- Lifetime.cpp - Sequences come, fork, grow and go --------------------===//
#include "runtime/schedule/Scheduler.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

using State = Sequence::State;

/// Without tokens yet.
Sequence &Scheduler::create(SequenceId id, const SequenceOptions &options) {
  auto sequence = std::make_unique<Sequence>();
  sequence->id = id;
  sequence->options = options;
  sequence->options.cachePrefix &= policy.prefixCache && !options.everyPosition;
  Sequence &created = *sequence;
  sequences.emplace(id, std::move(sequence));
  return created;
}

SequenceId Scheduler::add(std::span<const int32_t> prompt, const SequenceOptions &options) {
  assert(!prompt.empty() && options.maxNew >= 0);
  assert(options.rows >= 1 && options.rows <= pool.rows() && "would wait for ever");
  Sequence &sequence = create(reserveId(), options);
  if (options.rows > 1)
    sequence.group = std::make_shared<SequenceGroup>(SequenceGroup{options.rows});
  sequence.order = nextOrder++;
  sequence.prompt = int64_t(prompt.size());
  sequence.positions = positionsFor(sequence.prompt, options.maxNew);
  assert(pool.fits(sequence.positions) && "would wait for ever");
  sequence.tokens.reserve(prompt.size() + size_t(options.maxNew));
  sequence.tokens.assign(prompt.begin(), prompt.end());
  if (sequence.options.cachePrefix) {
    sequence.names.reserve(size_t(pool.pagesFor(sequence.positions)) + 1);
    sequence.names.push_back(hasher.root(options.cacheSalt));
  }
  queue.push(&sequence);
  return sequence.id;
}

void Scheduler::fork(SequenceId parentId, SequenceId childId) {
  const Sequence &parent = *sequences.at(parentId);
  assert(parent.tokens.back() >= 0 && parent.inStep == 0 && !parent.wantsRows());
  Sequence &child = create(childId, parent.options);
  child.order = parent.order;
  child.prompt = parent.prompt;
  child.positions = parent.positions;
  child.tokens.reserve(parent.tokens.capacity());
  child.tokens.assign(parent.tokens.begin(), parent.tokens.end());
  child.names.reserve(parent.names.capacity());
  child.names.assign(parent.names.begin(), parent.names.end());
  child.cachedTokens = parent.cachedTokens;
  child.admitted = parent.admitted;
  child.rowsGiven = parent.rowsGiven;
  child.group = parent.group;
  ++counts.forks;
  if (parent.state == State::Running && rowsLacking(child) == 0) {
    child.row = pool.fork(parent.row, parent.computed);
    child.computed = parent.computed;
    child.goal = parent.goal;
    child.named = parent.named;
    startRunning(child);
  } else if (parent.state == State::Held || (parent.state == State::Running && !parent.pending())) {
    child.state = State::Held;
  } else {
    queue.push(&child);
  }
}

void Scheduler::finish(SequenceId id) {
  auto found = sequences.find(id);
  assert(found != sequences.end());
  Sequence &sequence = *found->second;
  if (sequence.state == State::Running) {
    nameFullPages(sequence);
    stopRunning(sequence);
  } else if (sequence.state == State::Queued) {
    queue.remove(&sequence);
  }
  swap.giveBack(sequence.swapped);
  sequences.erase(found);
}

void Scheduler::append(SequenceId id, int32_t token) {
  Sequence &sequence = *sequences.at(id);
  if (sequence.tokens.back() < 0) {
    assert(token >= 0 && "it is known now");
    sequence.tokens.back() = token;
    return;
  }
  assert(sequence.state == State::Held || (sequence.decoding() && sequence.pending() == 0));
  assert(int64_t(sequence.tokens.size()) < sequence.positions && "longer than it announced");
  sequence.tokens.push_back(token);
  if (sequence.state == State::Held) {
    sequence.state = State::Queued;
    queue.push(&sequence);
  }
}

/// It has a row, and gets its place among those that run.
void Scheduler::startRunning(Sequence &sequence) {
  sequence.state = State::Running;
  sequence.admitted = true;
  active.insert(std::ranges::upper_bound(
                    active, &sequence,
                    [this](const Sequence *a, const Sequence *b) { return queue.before(*a, *b); }),
                &sequence);
  queue.running(sequence.options.user, 1);
  countRunning(sequence, 1);
}

/// Its row and pages are given back; the caller says what it is now.
void Scheduler::stopRunning(Sequence &sequence) {
  pool.release(sequence.row);
  sequence.row = -1;
  active.erase(std::ranges::find(active, &sequence));
  queue.running(sequence.options.user, -1);
  countRunning(sequence, -1);
}

/// Keeps count of the rows that groups may still take.
void Scheduler::countRunning(const Sequence &sequence, int change) {
  if (!sequence.group)
    return;
  keptRows -= sequence.group->kept();
  sequence.group->running += change;
  keptRows += sequence.group->kept();
}

/// Names of the first `pages` pages, whose tokens are all known.
void Scheduler::chainNames(Sequence &sequence, int64_t pages) {
  const int64_t size = pool.pageTokens();
  for (auto i = int64_t(sequence.names.size()) - 1; i < pages; ++i)
    sequence.names.push_back(hasher.next(
        sequence.names.back(), std::span(sequence.tokens).subspan(size_t(i * size), size_t(size))));
}

/// Tells the pool the names of pages that are full now, so that others find them.
void Scheduler::nameFullPages(Sequence &sequence) {
  if (!sequence.options.cachePrefix)
    return;
  int64_t known = int64_t(sequence.tokens.size()) - (sequence.tokens.back() < 0);
  int64_t full = std::min(sequence.computed, known) / pool.pageTokens();
  chainNames(sequence, full);
  for (; sequence.named < full; ++sequence.named)
    pool.name(sequence.row, sequence.named, {sequence.names, sequence.tokens});
}

} // namespace ingot::runtime
