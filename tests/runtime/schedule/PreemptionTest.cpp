//===- PreemptionTest.cpp - Too few pages for all: who is preempted --------===//
#include "tests/runtime/schedule/FakeModel.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

/// Returns a setup with 8 pages, so two sequences of 7 pages each cannot both finish at the same time.
FakeSetup tight(uint64_t swapPages = 0) {
  FakeSetup setup;
  setup.groups = {{8, 0}};
  setup.context = 256;
  setup.swapPages = swapPages;
  return setup;
}

TEST(Preemption, theLastToArriveIsPreempted) {
  for (uint64_t swapPages : {0, 100}) {
    FakeModel model(tight(swapPages));
    SequenceId first = model.ask(promptOf(20, 1), 190), second = model.ask(promptOf(20, 2), 190);
    model.run();
    EXPECT_EQ(model.finished, (std::vector<SequenceId>{first, second}));
    ScheduleStats stats = model.scheduler.stats();
    EXPECT_EQ(stats.preemptions, 1u);
    EXPECT_EQ(stats.swaps, swapPages ? 1u : 0u);
    // The preempted sequence had 4 pages, and the other sequence left one of them cached.
    EXPECT_EQ(model.computed, 2 * 209 + (swapPages ? 0 : 3 * 32));
  }
}

TEST(Preemption, swapsOnlyWhatFitsTheHost) {
  FakeModel model(tight(/*swapPages=*/3)); // it has 4 pages when it is preempted
  model.ask(promptOf(20, 1), 190);
  model.ask(promptOf(20, 2), 190);
  model.run();
  EXPECT_EQ(model.scheduler.stats().preemptions, 1u);
  EXPECT_EQ(model.scheduler.stats().swaps, 0u);
}

TEST(Preemption, computesAgainWhatIsCheaper) {
  FakeSetup setup = tight(100);
  setup.policy.swapBytesPerSecond = 1e3; // a page takes half a second each way
  FakeModel model(setup);
  model.ask(promptOf(20, 1), 190);
  model.ask(promptOf(20, 2), 190);
  model.run();
  EXPECT_EQ(model.scheduler.stats().preemptions, 1u);
  EXPECT_EQ(model.scheduler.stats().swaps, 0u);
}

TEST(Preemption, aBetterPriorityTakesRowsAndPages) {
  for (bool rowsLack : {true, false})
    for (uint64_t swapPages : {0, 100}) {
      FakeSetup setup = tight(swapPages);
      setup.rows = rowsLack ? 2 : 4;
      setup.limits.logitsRows = 4;
      FakeModel model(setup);
      SequenceOptions low, high;
      low.priority = 5;
      high.priority = -1;
      SequenceId a = model.ask(promptOf(90, 1), 20, low), b = model.ask(promptOf(90, 2), 20, low);
      model.step();
      ASSERT_EQ(model.scheduler.running(), 2);
      SequenceId c = model.ask(promptOf(100, 3), 20, high);
      model.step();
      EXPECT_EQ(model.scheduler.running(), 2);
      EXPECT_EQ(model.scheduler.stats().preemptions, 1u);
      model.run();
      EXPECT_EQ(model.finished.back(), b) << "the last to arrive gave way";
      EXPECT_NE(model.finished.back(), c);
      EXPECT_NE(a, b);
    }
}

TEST(Preemption, equalsWait) {
  FakeSetup setup = tight();
  setup.rows = 2;
  FakeModel model(setup);
  model.ask(promptOf(60, 1), 10);
  model.ask(promptOf(60, 2), 10);
  model.step();
  model.ask(promptOf(60, 3), 10);
  for (int i = 0; i < 3; ++i)
    model.step();
  EXPECT_EQ(model.scheduler.stats().preemptions, 0u);
  EXPECT_EQ(model.scheduler.queued(), 1);
  model.run();
}

TEST(Preemption, worseOnesAreLeftAloneIfTheyHaveTooLittle) {
  FakeModel model(tight());
  SequenceOptions low, high;
  low.priority = 1;
  model.ask(promptOf(200, 1), 2, high);
  model.ask(promptOf(20, 2), 2, low);
  model.step();
  model.ask(promptOf(120, 3), 2, high); // needs 4 pages; preempting the low one would free too few
  EXPECT_EQ(model.scheduler.stats().preemptions, 0u);
  model.run();
  EXPECT_EQ(model.scheduler.stats().preemptions, 0u);
}

TEST(Preemption, resumedBeforeThoseThatHaveNotRun) {
  FakeSetup setup = tight();
  setup.rows = 2;
  FakeModel model(setup);
  SequenceId a = model.ask(promptOf(20, 1), 190), b = model.ask(promptOf(20, 2), 190);
  SequenceId c = model.ask(promptOf(20, 3), 190);
  model.run();
  EXPECT_EQ(model.finished, (std::vector<SequenceId>{a, b, c}));
}

TEST(Preemption, whatWaitsMayBeEnded) {
  for (uint64_t swapPages : {0, 100}) {
    FakeModel model(tight(swapPages));
    SequenceId first = model.ask(promptOf(20, 1), 190), second = model.ask(promptOf(20, 2), 190);
    while (model.scheduler.stats().preemptions == 0)
      ASSERT_TRUE(model.step());
    EXPECT_EQ(model.scheduler.stats().swapBytesUsed > 0, swapPages > 0);
    model.cancel(second);
    EXPECT_EQ(model.scheduler.stats().swapBytesUsed, 0u);
    model.cancel(first);
    model.expectNothingHeld();
  }
}

/// The demand is several times the pool, and requests have several answers each. The first running sequence always
/// advances, so the total work bounds the number of steps.
TEST(Preemption, fourTimesThePoolMakesProgress) {
  for (uint64_t swapPages : {0, 6, 40})
    for (bool moves : {true, false}) {
      FakeSetup setup;
      setup.groups = {{24, 0}};
      setup.rows = 16;
      setup.context = 400;
      setup.limits = {64, 16, 64};
      setup.swapPages = swapPages;
      setup.moves = moves;
      FakeModel model(setup);
      int64_t tokens = 0;
      for (int i = 0; i < 12; ++i) {
        int64_t prompt = 5 + (i * 53) % 200, maxNew = 20 + (i * 37) % 150;
        model.ask(promptOf(prompt, i), maxNew, {}, 1 + i % 4);
        tokens += (prompt + maxNew) * (1 + i % 4);
      }
      EXPECT_GT(tokens, 4 * 24 * kPageTokens);
      int64_t finished = 0, since = 0;
      while (model.step()) {
        ASSERT_FALSE(HasFatalFailure());
        since = int64_t(model.finished.size()) == finished ? since + 1 : 0;
        finished = int64_t(model.finished.size());
        ASSERT_LT(since, 2 * 400) << "no answer has ended for long";
      }
      model.run();
      EXPECT_EQ(model.finished.size(), 30u);
      EXPECT_GT(model.scheduler.stats().preemptions, 5u);
      EXPECT_EQ(model.scheduler.stats().swaps > 0, swapPages > 0 && moves);
    }
}

} // namespace
