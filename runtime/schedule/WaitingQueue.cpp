//===- WaitingQueue.cpp - See WaitingQueue.h -------------------------------===//
#include "runtime/schedule/WaitingQueue.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace ingot::runtime {

bool WaitingQueue::before(const Sequence &a, const Sequence &b) const {
  if (priorityOf(a) != priorityOf(b))
    return priorityOf(a) < priorityOf(b);
  return a.order != b.order ? a.order < b.order : a.id < b.id;
}

double WaitingQueue::servedOf(const Sequence &s) const {
  auto found = byUser.find(userOf(s));
  return found == byUser.end() ? 0 : found->second.served;
}

bool WaitingQueue::sooner(const Sequence &a, const Sequence &b) const {
  if (order != QueueOrder::Fair || priorityOf(a) != priorityOf(b))
    return before(a, b);
  const double ofA = servedOf(a), ofB = servedOf(b);
  return ofA != ofB ? ofA < ofB : before(a, b);
}

WaitingQueue::User &WaitingQueue::user(int64_t id) {
  return byUser.try_emplace(id, User{std::set<Sequence *, Before>(Before{this}), 0, 0})
      .first->second;
}

void WaitingQueue::push(Sequence *sequence) {
  assert(sequence->state == Sequence::State::Queued && "a sequence in the queue does not run");
  User &own = user(userOf(*sequence));
  if (order == QueueOrder::Fair && own.waiting.empty() && own.runs == 0) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto &[id, other] : byUser)
      if (!other.waiting.empty() || other.runs > 0)
        least = std::min(least, other.served);
    if (least != std::numeric_limits<double>::infinity())
      own.served = std::max(own.served, least);
  }
  [[maybe_unused]] bool added = own.waiting.insert(sequence).second;
  assert(added && "it is in the queue already");
  ++waiting;
  waitingTokens += sequence->prompt;
}

void WaitingQueue::remove(Sequence *sequence) {
  User &own = user(userOf(*sequence));
  [[maybe_unused]] size_t removed = own.waiting.erase(sequence);
  assert(removed == 1 && "what it is ordered by has changed in the queue");
  --waiting;
  waitingTokens -= sequence->prompt;
  assert(waiting >= 0 && waitingTokens >= 0 && "more was removed than there was");
  // Drop accounts as running() does, but with a higher threshold. A sequence that is being admitted is removed as
  // well, and its user's account should be kept.
  if (order == QueueOrder::Fair && own.runs == 0 && own.waiting.empty() && byUser.size() > 4096)
    byUser.erase(userOf(*sequence));
}

Sequence *WaitingQueue::front() const {
  Sequence *best = nullptr;
  double bestServed = 0;
  for (const auto &[id, own] : byUser) {
    if (own.waiting.empty())
      continue;
    Sequence *first = *own.waiting.begin();
    auto better = [&] {
      if (priorityOf(*first) != priorityOf(*best))
        return priorityOf(*first) < priorityOf(*best);
      if (first->admitted != best->admitted)
        return first->admitted;
      if (own.served != bestServed)
        return own.served < bestServed;
      return before(*first, *best);
    };
    if (!best || better()) {
      best = first;
      bestServed = own.served;
    }
  }
  return best;
}

void WaitingQueue::serve(int64_t id, double weight) {
  if (order == QueueOrder::Fair)
    user(id).served += weight;
}

void WaitingQueue::running(int64_t id, int change) {
  if (order != QueueOrder::Fair)
    return;
  User &own = user(id);
  own.runs += change;
  assert(own.runs >= 0 && "more of the user's sequences have ended than have run");
  // A user who returns starts at the minimum, so the account of a user without sequences can be dropped.
  if (own.runs == 0 && own.waiting.empty() && byUser.size() > 1024)
    byUser.erase(id);
}

} // namespace ingot::runtime
