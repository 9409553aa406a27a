//===- WaitingQueue.h - The order of waiting sequences ---------------------===//
//
// The order of waiting sequences is one of:
//
//   Arrival    first come, first served
//   Priority   by priority, then by arrival
//   Fair       by priority, then the user who has been served least, then by arrival: virtual token
//              counters (Sheng et al. 2024, "Fairness in Serving Large Language Models"). A user
//              who returns after a pause starts at the minimum of the present users, so that
//              credit does not accumulate.
//
// A preempted sequence precedes sequences of the same priority that have not run yet.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/Sequence.h"

#include <map>
#include <set>

namespace ingot::runtime {

enum class QueueOrder : uint8_t { Arrival, Priority, Fair };

class WaitingQueue {
public:
  explicit WaitingQueue(QueueOrder order) : order(order) {}
  WaitingQueue(const WaitingQueue &) = delete;
  WaitingQueue &operator=(const WaitingQueue &) = delete;

  void push(Sequence *sequence);
  void remove(Sequence *sequence);
  Sequence *front() const; ///< null if the queue is empty
  int64_t size() const { return waiting; }
  int64_t tokens() const { return waitingTokens; } ///< prompt tokens

  /// Charges computed tokens to the user. Tokens of answers count twice.
  void serve(int64_t user, double weight);
  /// Changes the number of the user's running sequences by `change` (+1 or -1).
  void running(int64_t user, int change);

  /// Returns whether a precedes b, both in the queue of one user and among running sequences.
  bool before(const Sequence &a, const Sequence &b) const;
  /// Returns whether running sequence a should be served before b, by the same order by which front() chooses among
  /// waiting sequences.
  bool sooner(const Sequence &a, const Sequence &b) const;
  int32_t priorityOf(const Sequence &s) const {
    return order == QueueOrder::Arrival ? 0 : s.options.priority;
  }

private:
  struct Before {
    const WaitingQueue *queue;
    bool operator()(const Sequence *a, const Sequence *b) const {
      if (queue->priorityOf(*a) != queue->priorityOf(*b))
        return queue->priorityOf(*a) < queue->priorityOf(*b);
      if (a->admitted != b->admitted)
        return a->admitted;
      return queue->before(*a, *b);
    }
  };
  struct User {
    std::set<Sequence *, Before> waiting;
    double served = 0;
    int64_t runs = 0;
  };
  int64_t userOf(const Sequence &s) const { return order == QueueOrder::Fair ? s.options.user : 0; }
  User &user(int64_t id);
  double servedOf(const Sequence &s) const;

  QueueOrder order;
  std::map<int64_t, User> byUser;
  int64_t waiting = 0, waitingTokens = 0;
};

} // namespace ingot::runtime
