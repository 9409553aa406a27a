//===- Admission.cpp - Admission and preemption ----------------------------===//
#include "runtime/schedule/Scheduler.h"

#include <algorithm>
#include <cassert>

namespace ingot::runtime {

using State = Sequence::State;

void Scheduler::admit() {
  while (Sequence *first = queue.front()) {
    const SequenceMemory::Admission admission = tryAdmit(*first);
    if (!admission.there && !displaceFor(*first, admission))
      return; // the others must not overtake it, or a long request would starve
  }
}

/// Returns the number of sequence slots that the sequence lacks.
int64_t Scheduler::slotsLacking(const Sequence &sequence) const {
  const SequenceGroup *group = sequence.group.get();
  if (group && group->reserved() > 0)
    return 0; // it uses one of its group's reserved slots
  const int64_t needs = group && group->running == 0 ? group->slots : 1;
  return std::max<int64_t>(0, needs - (memory.freeSlots() - reservedSlots));
}

/// Admits the sequence and removes it from the queue, if there are a slot and memory for it.
SequenceMemory::Admission Scheduler::tryAdmit(Sequence &sequence) {
  assert(sequence.state == State::Queued && "only the queue's sequences are admitted");
  if (slotsLacking(sequence) > 0)
    return {};
  const auto size = int64_t(sequence.tokens.size());
  auto wantsMore = std::ranges::count_if(active, [this](const Sequence *other) {
    return memory.mayWantMore(other->held, other->positions);
  });
  if (sequence.group && sequence.group->running == 0 && !active.empty())
    wantsMore += sequence.group->slots - 1; // the forks that it will have in the next step
  const SequenceMemory::Admission admission =
      memory.admit(sequence.held, sequence.tokens, std::min(size + 1, sequence.positions),
                   policy.sparePages * wantsMore);
  if (!admission.there)
    return admission;
  queue.remove(&sequence);
  if (!sequence.admitted && sequence.options.cachePrefix) {
    sequence.cachedTokens = sequence.held.found;
    counts.prefixQueries += uint64_t(sequence.prompt);
    counts.prefixHits += uint64_t(sequence.held.found);
  }
  // A sequence restored from the host was decoding, and continues decoding.
  const bool goesOn = sequence.computed() > sequence.held.found && sequence.pending() == 1;
  sequence.goal = goesOn ? sequence.computed() : size;
  startRunning(sequence);
  return admission;
}

/// Preempts one running sequence of lower priority for a waiting one, if all running sequences of lower priority
/// together have the slots and memory that the waiting one lacks.
bool Scheduler::displaceFor(const Sequence &waiting, const SequenceMemory::Admission &refused) {
  Sequence *victim = nullptr;
  const SequenceGroup *counted = nullptr; // sequences of a group are adjacent
  int64_t slots = 0;
  victims.clear();
  for (Sequence *sequence : active) {
    if (queue.priorityOf(*sequence) <= queue.priorityOf(waiting) || sequence->wantsRows())
      continue;
    victim = sequence; // the last one is preempted first
    victims.push_back(&sequence->held);
    ++slots;
    if (sequence->group && sequence->group.get() != counted) {
      counted = sequence->group.get();
      slots += counted->reserved();
    }
  }
  if (!victim || !memory.enoughIn(victims, refused) || slots < slotsLacking(waiting))
    return false;
  preempt(*victim);
  return true;
}

/// Preempts the last sequence that follows this one in order and is not in the planned batch. Returns false if
/// there is none. This sequence then waits for the sequences before it.
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

/// Called when no sequence can continue. If others have tokens to feed but lack a slot or memory, preempts the
/// last sequence that has no token to feed. Returns false if there is none, or no work is left.
bool Scheduler::preemptIdle() {
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
  assert(sequence.state == State::Running && sequence.uncertain == 0 && !sequence.wantsRows() &&
         "it must not lose what it has computed now");
  const bool feeds = sequence.pending() > 0;
  ++counts.preemptions;
  saveToHost(sequence);
  stopRunning(sequence);
  sequence.state = feeds ? State::Queued : State::Held;
  if (feeds)
    queue.push(&sequence);
}

/// Saves the sequence to the host if there is room and copying it out and back is faster than recomputing it.
bool Scheduler::saveToHost(Sequence &sequence) {
  const uint64_t bytes = memory.bytesToSave(sequence.held);
  const double again = cost.predictPrompt(sequence.computed(), limits.prefillChunk);
  return bytes > 0 && 2 * double(bytes) / policy.swapBytesPerSecond < again &&
         memory.save(sequence.held);
}

} // namespace ingot::runtime
