//===- ThreadPoolTest.cpp - Barriers hold, idle threads sleep -------------===//
#include "runtime/device/cpu/ThreadPool.h"

#include <chrono>
#include <numeric>

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

TEST(ThreadPool, everyThreadRunsEveryJobOnce) {
  for (int threads : {1, 2, 3, 8}) {
    auto pool = ThreadPool::create(threads);
    ASSERT_TRUE(pool);
    EXPECT_EQ((*pool)->threads(), threads);
    std::vector<int> runs(size_t(threads), 0);
    for (int i = 0; i < 2000; ++i)
      (*pool)->run(
          [](void *context, int thread) {
            ++(*static_cast<std::vector<int> *>(context))[size_t(thread)];
          },
          &runs);
    for (int count : runs)
      EXPECT_EQ(count, 2000);
  }
}

// Between two barriers every thread sees what all wrote before the first one.
TEST(ThreadPool, barriersOrderWrites) {
  constexpr int kRounds = 3000;
  for (int threads : {2, 3, 5}) {
    auto created = ThreadPool::create(threads);
    ASSERT_TRUE(created);
    struct State {
      ThreadPool *pool;
      std::vector<int64_t> values; // plain memory: only the barriers order it
      std::vector<int64_t> errors;
    } state{created->get(), std::vector<int64_t>(size_t(threads) * 16, 0),
            std::vector<int64_t>(size_t(threads) * 16, 0)};
    (*created)->run(
        [](void *context, int thread) {
          auto &own = *static_cast<State *>(context);
          for (int64_t round = 1; round <= kRounds; ++round) {
            own.values[size_t(thread) * 16] = round;
            own.pool->barrier();
            for (int other = 0; other < own.pool->threads(); ++other)
              own.errors[size_t(thread) * 16] += own.values[size_t(other) * 16] != round;
            own.pool->barrier();
          }
        },
        &state);
    EXPECT_EQ(std::accumulate(state.errors.begin(), state.errors.end(), int64_t(0)), 0);
  }
}

// Pauses longer and shorter than the spin: both sides of the sleep are taken.
TEST(ThreadPool, wakesSleepersAtAnyMoment) {
  auto pool = ThreadPool::create(3);
  ASSERT_TRUE(pool);
  std::atomic<int> runs{0};
  for (int i = 0; i < 400; ++i) {
    (*pool)->run([](void *context, int) { ++*static_cast<std::atomic<int> *>(context); }, &runs);
    auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 120);
    while (std::chrono::steady_clock::now() < until)
      ;
    if (i % 50 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(runs.load(), 1200);
}

TEST(ThreadPool, idleBurnsNoCore) {
  auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool);
  (*pool)->run([](void *, int) {}, nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  double before = processSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processSeconds() - before, 0.02);
}

TEST(ThreadPool, startsAndStopsWithoutAJob) {
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(ThreadPool::create(1 + i % 5));
}

TEST(ThreadPool, usableProcessorsIsPositive) { EXPECT_GE(usableProcessors(), 1); }
