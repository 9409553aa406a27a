//===- ThreadPoolTest.cpp - Gates hold, idle threads sleep ----------------===//
#include "runtime/device/cpu/ThreadPool.h"

#include <chrono>

#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace ingot::cpu;

namespace {
double processSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
} // namespace

// After every invitation, the job runs on every thread except the caller's.
TEST(ThreadPool, everyInvitationIsAnswered) {
  for (int threads : {1, 2, 3, 8}) {
    struct State {
      std::atomic<int> invitation{0};
      std::atomic<int> seen[8] = {};
    } state;
    auto pool = ThreadPool::create(
        threads,
        [](void *context, int thread) {
          auto &own = *static_cast<State *>(context);
          own.seen[thread] = own.invitation.load();
        },
        &state);
    ASSERT_TRUE(pool);
    EXPECT_EQ((*pool)->threads(), threads);
    for (int i = 1; i <= 300; ++i) {
      state.invitation = i;
      (*pool)->invite();
      // Pauses longer and shorter than the spin exercise both the sleeping and the spinning path.
      auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 120);
      while (std::chrono::steady_clock::now() < until)
        ;
      if (i % 3)
        continue; // invites again while it may still run
      for (int thread = 1; thread < threads; ++thread)
        while (state.seen[thread] != i)
          std::this_thread::yield();
    }
    EXPECT_EQ(state.seen[0], 0);
  }
}

// Plain writes before advance() are visible after await().
TEST(Gate, ordersWrites) {
  Gate there, back;
  int64_t value = 0, sum = 0;
  constexpr uint32_t kRounds = 3000;
  std::thread other([&] {
    for (uint32_t i = 0; i < kRounds; ++i) {
      there.await(i);
      sum += value;
      back.advance();
    }
  });
  for (uint32_t i = 0; i < kRounds; ++i) {
    value = int64_t(i) * i;
    there.advance();
    back.await(i);
    EXPECT_TRUE(there.passed(i));
    EXPECT_FALSE(there.passed(i + 1));
  }
  other.join();
  int64_t expected = 0;
  for (int64_t i = 0; i < kRounds; ++i)
    expected += i * i;
  EXPECT_EQ(sum, expected);
}

TEST(ThreadPool, idleBurnsNoCore) {
  auto pool = ThreadPool::create(4, [](void *, int) {}, nullptr);
  ASSERT_TRUE(pool);
  (*pool)->invite();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  double before = processSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processSeconds() - before, 0.02);
}

TEST(ThreadPool, startsAndStopsWithoutAJob) {
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(ThreadPool::create(1 + i % 5, [](void *, int) { FAIL(); }, nullptr));
}

TEST(ThreadPool, usableProcessorsIsPositive) { EXPECT_GE(usableProcessors(), 1); }
