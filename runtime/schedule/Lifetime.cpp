//===- Lifetime.cpp - Creation, fork, growth and end of sequences ----------===//
#include "runtime/schedule/Scheduler.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

using State = Sequence::State;

/// Creates a sequence without tokens.
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
  assert(options.seats >= 1 && options.seats <= memory.seats() && "would wait for ever");
  Sequence &sequence = create(reserveId(), options);
  if (options.seats > 1)
    sequence.group = std::make_shared<SequenceGroup>(SequenceGroup{options.seats});
  sequence.order = nextOrder++;
  sequence.prompt = int64_t(prompt.size());
  sequence.positions = positionsFor(sequence.prompt, options.maxNew);
  assert(memory.fits(sequence.positions) && "would wait for ever");
  sequence.tokens.reserve(prompt.size() + size_t(options.maxNew));
  sequence.tokens.assign(prompt.begin(), prompt.end());
  memory.begin(sequence.held, sequence.positions,
               sequence.options.cachePrefix ? std::optional(options.cacheSalt) : std::nullopt);
  queue.push(&sequence);
  return sequence.id;
}

void Scheduler::fork(SequenceId parentId, SequenceId childId) {
  const Sequence &parent = *sequences.at(parentId);
  assert(parent.tokens.back() >= 0 && parent.inStep == 0 && parent.uncertain == 0 &&
         !parent.wantsRows());
  Sequence &child = create(childId, parent.options);
  child.order = parent.order;
  child.prompt = parent.prompt;
  child.positions = parent.positions;
  child.tokens.reserve(parent.tokens.capacity());
  child.tokens.assign(parent.tokens.begin(), parent.tokens.end());
  memory.begin(child.held, parent.held);
  child.cachedTokens = parent.cachedTokens;
  child.admitted = parent.admitted;
  child.rowsGiven = parent.rowsGiven;
  child.group = parent.group;
  ++counts.forks;
  if (parent.state == State::Running && seatsLacking(child) == 0) {
    memory.fork(parent.held, child.held);
    child.goal = parent.goal;
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
  if (sequence.state == State::Running)
    stopRunning(sequence);
  else if (sequence.state == State::Queued)
    queue.remove(&sequence);
  memory.end(sequence.held, sequence.tokens);
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
  sequence.drafts.clear();
  sequence.tokens.push_back(token);
  if (sequence.state == State::Held) {
    sequence.state = State::Queued;
    queue.push(&sequence);
  }
}

/// Inserts a sequence that has got a slot into the list of running ones.
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

/// Releases the slot of a sequence; the caller sets its next state.
void Scheduler::stopRunning(Sequence &sequence) {
  memory.leave(sequence.held, sequence.tokens);
  active.erase(std::ranges::find(active, &sequence));
  queue.running(sequence.options.user, -1);
  countRunning(sequence, -1);
}

/// Updates the number of slots that groups may still take.
void Scheduler::countRunning(const Sequence &sequence, int change) {
  if (!sequence.group)
    return;
  keptSeats -= sequence.group->kept();
  sequence.group->running += change;
  keptSeats += sequence.group->kept();
}

} // namespace ingot::runtime
