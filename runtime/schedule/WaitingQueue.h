//===- WaitingQueue.h - Who is next ----------------------------------------===//
//
// Sequences that wait, in an order:
//
//   Arrival    first come, first served
//   Priority   by priority, then by arrival
//   Fair       by priority, then the user who has been served least, then by arrival: virtual token
//              counters (Sheng et al. 2024, "Fairness in Serving Large Language Models"). A user
//              who comes back after a pause begins at the least of those who are there, so that
//              nobody saves up.
//
// A sequence that was preempted goes before those of its priority that have not run.
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
  Sequence *front() const; ///< null: empty
  int64_t size() const { return waiting; }
  int64_t tokens() const { return waitingTokens; } ///< of prompts

  /// Of a sequence of that user, so many tokens were computed; those of answers weigh double.
  void serve(int64_t user, double weight);
  /// The user has a sequence that runs now, or has one less.
  void running(int64_t user, int change);

  /// Whether a goes before b: in the queue for the same user, and among those that run.
  bool before(const Sequence &a, const Sequence &b) const;
  /// Whether a is to be served before b, of those that run: as front() says of those that wait.
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
