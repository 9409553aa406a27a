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
  assert(id >= 0 && id < nextId && "an id that was not reserved");
  [[maybe_unused]] bool added = sequences.emplace(id, std::move(sequence)).second;
  assert(added && "another sequence has this id");
  return created;
}

SequenceId Scheduler::add(std::span<const int32_t> prompt, const SequenceOptions &options) {
  assert(!prompt.empty() && options.maxNew >= 0 && "the caller has checked the request");
  assert(options.slots >= 1 && options.slots <= memory.slots() && "would wait for ever");
  Sequence &sequence = create(reserveId(), options);
  if (options.slots > 1)
    sequence.group = std::make_shared<SequenceGroup>(SequenceGroup{options.slots});
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
         !parent.wantsRows() && "a fork has the tokens of its parent, all of them known");
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
  if (parent.state == State::Running && slotsLacking(child) == 0) {
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
  assert(found != sequences.end() && "it has ended already");
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
  assert((sequence.state == State::Held || (sequence.decoding() && sequence.pending() == 0)) &&
         "it has tokens to feed first");
  assert(int64_t(sequence.tokens.size()) < sequence.positions && "longer than it announced");
  assert(sequence.uncertain == 0 && "commit() says how many of its drafts were right");
  sequence.drafts.clear();
  sequence.tokens.push_back(token);
  if (sequence.state == State::Held) {
    sequence.state = State::Queued;
    queue.push(&sequence);
  }
}

/// Inserts a sequence that has got a slot into the list of running ones.
void Scheduler::startRunning(Sequence &sequence) {
  assert(sequence.state == State::Queued && sequence.held.slot >= 0 &&
         "the caller has taken it from the queue and given it a slot");
  assert(running() < memory.slots() && "more sequences run than there are slots");
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
  auto found = std::ranges::find(active, &sequence);
  assert(found != active.end() && "a sequence that runs is in the list of those");
  active.erase(found);
  queue.running(sequence.options.user, -1);
  countRunning(sequence, -1);
}

/// Updates the number of running sequences of the group, and the number of slots reserved for groups.
void Scheduler::countRunning(const Sequence &sequence, int change) {
  if (!sequence.group)
    return;
  reservedSlots -= sequence.group->reserved();
  sequence.group->running += change;
  reservedSlots += sequence.group->reserved();
  assert(sequence.group->running >= 0 && "more sequences of the group have ended than have run");
  assert(reservedSlots >= 0 && reservedSlots <= memory.freeSlots() &&
         "reserved slots are not free");
}

} // namespace ingot::runtime
