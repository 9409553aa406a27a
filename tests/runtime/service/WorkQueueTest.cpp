//===- WorkQueueTest.cpp - Which work is read before which -------------------===//
#include "runtime/service/WorkQueue.h"

#include <future>
#include <string>

#include <gtest/gtest.h>

using namespace ingot::service;
using namespace std::chrono_literals;

namespace {

constexpr size_t kMega = 1 << 20;

/// Work that runs until it is released.
struct Gate {
  std::promise<void> begun, open;
  std::function<void()> work() {
    return [this] {
      begun.set_value();
      open.get_future().wait();
    };
  }
};

} // namespace

TEST(WorkQueue, shortWorkPassesLongWork) {
  std::string order;
  {
    std::promise<void> last;
    Gate gate;
    WorkQueue queue(1);
    queue.push(gate.work());
    gate.begun.get_future().wait();
    queue.push(
        [&] {
          order += "8";
          last.set_value();
        },
        8 * kMega);
    queue.push([&] { order += "1"; }, kMega);
    queue.push([&] { order += "a"; }, 100);
    queue.push([&] { order += "b"; }, 100);
    gate.open.set_value();
    last.get_future().wait();
  }
  EXPECT_EQ(order, "ab18");
}

/// Work that arrives while the 0.3 s of the long work "2" pass overtakes it. Work that arrives later does not.
TEST(WorkQueue, nothingWaitsForEver) {
  std::string order;
  std::promise<void> last;
  Gate gate;
  WorkQueue queue(1);
  queue.push(gate.work());
  gate.begun.get_future().wait();
  queue.push([&] { order += "2"; }, size_t(0.3 * WorkQueue::kBytesPerSecond));
  std::this_thread::sleep_for(400ms);
  queue.push(
      [&] {
        order += "a";
        last.set_value();
      },
      100);
  gate.open.set_value();
  last.get_future().wait();
  EXPECT_EQ(order, "2a");
}

TEST(WorkQueue, aThreadIsKeptForShortWork) {
  std::promise<void> read;
  Gate first, second;
  WorkQueue queue(2); // destroyed before the objects its work uses
  queue.push(first.work(), 8 * kMega);
  queue.push(second.work(), 8 * kMega);
  first.begun.get_future().wait();
  queue.push([&] { read.set_value(); }, WorkQueue::kShort);
  EXPECT_EQ(read.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_EQ(second.begun.get_future().wait_for(50ms), std::future_status::timeout);
  first.open.set_value();
  second.open.set_value();
}
