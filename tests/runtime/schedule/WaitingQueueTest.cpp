//===- WaitingQueueTest.cpp - Orders of waiting requests -------------------===//
#include "runtime/schedule/WaitingQueue.h"

#include <memory>

#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

struct Waiting {
  explicit Waiting(QueueOrder order) : queue(order) {}
  Sequence *add(int32_t priority, int64_t user = 0, bool admitted = false) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = sequence->order = int64_t(all.size());
    sequence->options.priority = priority;
    sequence->options.user = user;
    sequence->prompt = 10;
    sequence->admitted = admitted;
    queue.push(sequence.get());
    all.push_back(std::move(sequence));
    return all.back().get();
  }
  std::vector<int64_t> order() {
    std::vector<int64_t> ids;
    while (Sequence *first = queue.front()) {
      ids.push_back(first->id);
      queue.remove(first);
    }
    return ids;
  }
  WaitingQueue queue;
  std::vector<std::unique_ptr<Sequence>> all;
};

using Ids = std::vector<int64_t>;

} // namespace

TEST(WaitingQueue, orders) {
  for (auto [order, expected] : {std::pair(QueueOrder::Arrival, Ids{4, 0, 1, 2, 3}),
                                 {QueueOrder::Priority, {1, 3, 4, 0, 2}}}) {
    Waiting waiting(order);
    waiting.add(5);
    waiting.add(-1);
    waiting.add(5);
    waiting.add(0);
    waiting.add(5, 0, /*admitted=*/true);
    EXPECT_EQ(waiting.queue.size(), 5);
    EXPECT_EQ(waiting.queue.tokens(), 50);
    EXPECT_EQ(waiting.order(), expected);
    EXPECT_EQ(waiting.queue.tokens(), 0);
  }
}

TEST(WaitingQueue, fairServesWhoHadLeast) {
  Waiting waiting(QueueOrder::Fair);
  for (int i = 0; i < 4; ++i)
    waiting.add(0, /*user=*/1);
  waiting.add(0, 2);
  waiting.add(0, 2);
  Ids served;
  while (Sequence *first = waiting.queue.front()) {
    waiting.queue.remove(first);
    waiting.queue.serve(first->options.user, first->options.user == 1 ? 10 : 25);
    served.push_back(first->id);
  }
  EXPECT_EQ(served, (Ids{0, 4, 1, 2, 5, 3}));
}

TEST(WaitingQueue, nobodySavesUp) {
  Waiting waiting(QueueOrder::Fair);
  waiting.add(0, 1);
  waiting.queue.serve(1, 1000);
  waiting.add(0, 2); // a new user starts at 1000, not at 0
  waiting.queue.serve(2, 1);
  EXPECT_EQ(waiting.order(), (Ids{0, 1}));
}

TEST(WaitingQueue, fairHeedsPriorities) {
  Waiting waiting(QueueOrder::Fair);
  waiting.add(1, 1);
  waiting.add(1, 2);
  waiting.add(0, 1);
  waiting.queue.serve(1, 100);
  EXPECT_EQ(waiting.order(), (Ids{2, 1, 0}));
}
