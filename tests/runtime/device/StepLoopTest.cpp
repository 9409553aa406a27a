//===- StepLoopTest.cpp - Each item runs once, groups run in order --------===//
//
// The kernels here count the items that they are called with. There are more threads than
// processors, so some threads lag by launches and by steps. Every step has different sizes,
// which exposes a thread that mistakes one step for another.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/StepLoop.h"

#include <thread>

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::cpu;

namespace {

constexpr int64_t kMostItems = 64;

/// Operands of a launch. `counts` are not atomic, since no two threads share an item.
struct Launched {
  int64_t counts[kMostItems] = {};
  std::atomic<int64_t> items{0};
  const Launched *before = nullptr; ///< launch of an earlier group: must be complete
  std::atomic<int64_t> disorder{0};
  int64_t expected = 0; ///< items after this step
};

void countItems(void *const *args, const BatchView *, int64_t begin, int64_t end, int64_t step,
                char *scratch, int64_t) {
  auto &own = *static_cast<Launched *>(args[0]);
  if (own.before && own.before->items != own.before->expected)
    ++own.disorder;
  for (int64_t i = begin; i < end; i += step) {
    ++own.counts[i];
    ++own.items;
    scratch[i] = char(i); // per thread: a sanitizer would report a race
  }
}

struct Bench {
  std::vector<Launched> launched;
  std::vector<void *> args;
  std::vector<ResolvedLaunch> program;
  std::vector<std::byte> scratch = std::vector<std::byte>(16 * 64);

  explicit Bench(std::vector<std::tuple<fb::GridBase, uint64_t, fb::Partition, bool>> launches)
      : launched(launches.size()) {
    for (Launched &own : launched)
      args.push_back(&own);
    size_t i = 0, complete = 0; // `complete`: one past the last launch of earlier groups
    for (auto [base, factor, partition, barrier] : launches) {
      if (complete)
        launched[i].before = &launched[complete - 1];
      program.push_back({countItems, &args[i], factor, uint32_t(i), -1, base, partition, barrier});
      ++i;
      if (barrier)
        complete = i;
    }
  }
};

} // namespace

TEST(StepLoop, everyItemOnceAndGroupsInOrder) {
  using Base = fb::GridBase;
  constexpr auto Contiguous = fb::Partition::Contiguous, Cyclic = fb::Partition::Cyclic;
  for (int threads : {1, 2, 3, 8}) {
    Bench bench({{Base::Tokens, 1, Contiguous, false},
                 {Base::Constant, 5, Cyclic, true},
                 {Base::Tokens, 3, Cyclic, true},
                 {Base::Rows, 2, Contiguous, true}, // often without items
                 {Base::Tiles, 1, Cyclic, false},
                 {Base::Constant, 1, Contiguous, true},
                 {Base::Tokens, 2, Contiguous, false}}); // the end of the step is itself a barrier
    auto loop = StepLoop::create(bench.program, threads, bench.scratch.data(), 64);
    ASSERT_TRUE(loop);
    std::vector<std::vector<int64_t>> expected(bench.program.size(),
                                               std::vector<int64_t>(kMostItems, 0));
    for (int64_t step = 0; step < 3000; ++step) {
      BatchView view{};
      view.tokens = step % 21;
      view.rows = step % 3 == 0 ? 0 : step % 7;
      view.tiles = step % 11;
      uint64_t counts[4] = {view.tokens ? 1u : 0u, uint64_t(view.tokens), uint64_t(view.rows),
                            uint64_t(view.tiles)};
      for (size_t i = 0; i < bench.program.size(); ++i) {
        uint64_t items = counts[size_t(bench.program[i].base)] * bench.program[i].factor;
        bench.launched[i].expected += int64_t(items);
        for (uint64_t item = 0; item < items; ++item)
          ++expected[i][item];
      }
      (*loop)->run(view, nullptr);
      for (size_t i = 0; i < bench.program.size(); ++i)
        ASSERT_EQ(bench.launched[i].items, bench.launched[i].expected)
            << "launch " << i << ", step " << step;
      if (step % 100 == 99) // let all threads fall asleep
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (size_t i = 0; i < bench.program.size(); ++i) {
      EXPECT_EQ(bench.launched[i].disorder, 0);
      for (int64_t item = 0; item < kMostItems; ++item)
        ASSERT_EQ(bench.launched[i].counts[item], expected[i][size_t(item)]);
    }
  }
}

// A thread that is never scheduled on a core does not delay the step.
TEST(StepLoop, aStepEndsWithoutTheLateThreads) {
  Bench bench({{fb::GridBase::Tokens, 1, fb::Partition::Contiguous, true},
               {fb::GridBase::Tokens, 1, fb::Partition::Contiguous, true}});
  auto loop = StepLoop::create(bench.program, 16, bench.scratch.data(), 64);
  ASSERT_TRUE(loop);
  BatchView view{};
  view.tokens = 16;
  // There are 16 threads on few processors. If each launch waited for every thread, 2000
  // steps would take many thousands of context switches.
  auto begin = std::chrono::steady_clock::now();
  for (int step = 0; step < 2000; ++step)
    (*loop)->run(view, nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(bench.launched[1].items, 32000);
}
