//===- GroupTest.cpp - Sequences that advance together ----------------------===//
//
// Tests beam searches and candidates, whose sequences wait for each other after every step. With too few rows and
// pages, batched with others, preempted and cancelled, they must find the same results as when run by themselves.
//===----------------------------------------------------------------------===//
#include "tests/runtime/schedule/FakeModel.h"

#include <random>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

FakeSetup setupOf(int64_t pages, int64_t rows, uint64_t swapPages = 0) {
  FakeSetup setup;
  setup.groups = {{pages, 0}};
  setup.rows = rows;
  setup.context = 256;
  setup.limits = {64, rows, 64};
  setup.swapPages = swapPages;
  return setup;
}

} // namespace

TEST(Group, shareWhatIsBeforeThem) {
  for (bool moves : {true, false})
    for (int64_t prompt : {1, 32, 45, 100}) {
      FakeSetup setup = setupOf(64, 4);
      setup.limits.maxBatchTokens = setup.limits.prefillChunk = 256;
      setup.moves = moves;
      FakeModel model(setup);
      model.askGroup(promptOf(prompt), 60, 4);
      model.step();
      EXPECT_EQ(model.scheduler.running(), 4);
      EXPECT_EQ(model.pool.pagesInUse(), model.pool.pagesFor(prompt)) << "nothing is written yet";
      model.run();
      if (moves)
        EXPECT_EQ(model.computed, prompt + 4 * 59);
    }
}

TEST(Group, takesItsRowsTogether) {
  FakeModel model(setupOf(64, 4));
  model.ask(promptOf(40, 1), 30);
  model.ask(promptOf(40, 2), 30);
  model.askGroup(promptOf(40, 3), 30, 3); // two rows are free, but it needs one more
  SequenceId behind = model.ask(promptOf(40, 4), 30);
  model.step();
  EXPECT_EQ(model.scheduler.running(), 2);
  EXPECT_EQ(model.scheduler.queued(), 2) << "nobody overtakes";
  while (!model.answers.at(0).done)
    model.step();
  while (model.groups[0].round == 0)
    model.step();
  EXPECT_GE(model.scheduler.running(), 3);
  EXPECT_FALSE(model.answers.at(behind).done);
  model.run();
  EXPECT_EQ(model.scheduler.stats().preemptions, 0u);
}

/// A row that a search has reserved but not yet used goes to no other sequence.
TEST(Group, rowsAreKept) {
  FakeSetup setup = setupOf(64, 4);
  setup.limits.prefillChunk = 16; // a prompt of several steps
  FakeModel model(setup);
  model.askGroup(promptOf(60, 3), 30, 3);
  model.ask(promptOf(10, 4), 40);
  model.ask(promptOf(10, 5), 40);
  model.step();
  EXPECT_EQ(model.scheduler.running(), 2);
  EXPECT_EQ(model.scheduler.queued(), 1);
  while (model.scheduler.running() < 4)
    model.step();
  EXPECT_EQ(model.scheduler.stats().forks, 2u);
  model.run();
}

TEST(Group, isPreemptedAndAnswersTheSame) {
  for (bool moves : {true, false})
    for (uint64_t swapPages : {0, 4, 100}) {
      FakeSetup setup = setupOf(9, 6, swapPages);
      setup.moves = moves;
      FakeModel model(setup);
      for (int seed = 0; seed < 4; ++seed) {
        model.askGroup(promptOf(20 + seed * 13, seed), 90, 2 + seed % 2);
        model.ask(promptOf(30, 10 + seed), 100);
      }
      model.run();
      EXPECT_GT(model.scheduler.stats().preemptions, 3u);
      if (moves && swapPages == 100)
        EXPECT_GT(model.scheduler.stats().swaps, 0u);
    }
}

/// Each sequence fits by itself, but the whole search does not. Its sequences preempt each other. A sequence that is
/// ahead of the others is preempted when they cannot continue without its pages.
TEST(Group, goesOnWhereItHardlyFits) {
  for (int64_t pages : {4, 5, 6}) {
    FakeModel model(setupOf(pages, 3));
    model.askGroup(promptOf(33, 1), 80, 3);
    model.askGroup(promptOf(33, 2), 80, 3);
    model.ask(promptOf(33, 3), 80);
    model.run();
    EXPECT_GT(model.scheduler.stats().preemptions, 0u) << pages;
  }
}

TEST(Group, aBetterPriorityTakesItsPlace) {
  FakeModel model(setupOf(64, 4));
  SequenceOptions low, high;
  low.priority = 5;
  model.askGroup(promptOf(40, 1), 60, 4, low);
  for (int i = 0; i < 10; ++i)
    model.step();
  SequenceId urgent = model.ask(promptOf(40, 2), 10, high);
  model.step();
  EXPECT_FALSE(model.answers.at(urgent).tokens.size() == 40) << "it waits";
  model.run();
  // Conversely, a search preempts others only if that frees all the rows it needs.
  FakeModel other(setupOf(64, 4));
  other.ask(promptOf(40, 1), 60, high);
  other.ask(promptOf(40, 2), 60, low);
  for (int i = 0; i < 5; ++i)
    other.step();
  SequenceOptions middle;
  middle.priority = 3;
  other.askGroup(promptOf(40, 3), 20, 4, middle); // one of the four rows has a better priority
  other.step();
  EXPECT_EQ(other.scheduler.stats().preemptions, 0u);
  other.askGroup(promptOf(40, 4), 20, 3, high);
  other.step();
  EXPECT_EQ(other.scheduler.stats().preemptions, 1u);
  other.run();
}

/// Each token of the prompt gets its row exactly once, even if the search is later preempted.
TEST(Group, everyPromptTokenHasItsRowOnce) {
  FakeSetup setup = setupOf(10, 4);
  FakeModel model(setup);
  SequenceOptions every;
  every.everyPosition = true;
  model.ask(promptOf(30, 1), 90);
  model.askGroup(promptOf(50, 2), 70, 2, every);
  SequenceId member = model.groups[0].live[0];
  while (model.groups[0].round == 0)
    model.step();
  EXPECT_EQ(model.answers.at(member).rows, 50);
  model.run();
  EXPECT_GT(model.scheduler.stats().preemptions, 0u);
}

TEST(Group, leavesNothingWhenItIsCancelled) {
  for (int steps : {0, 1, 2, 7, 20}) {
    FakeModel model(setupOf(14, 4, 6));
    model.ask(promptOf(30, 1), 90);
    size_t number = model.askGroup(promptOf(70, 2), 90, 3);
    for (int i = 0; i < steps; ++i)
      model.step();
    model.cancelGroup(number);
    model.run();
  }
}

TEST(Group, anyMix) {
  std::mt19937 random(5);
  auto upTo = [&](int64_t most) { return int64_t(random() % uint32_t(most + 1)); };
  for (int round = 0; round < 80; ++round) {
    FakeSetup setup = setupOf(12 + upTo(30), 2 + upTo(6), uint64_t(upTo(1) * upTo(20)));
    setup.moves = upTo(3) > 0;
    setup.limits.prefillChunk = 8 + upTo(56);
    if (upTo(2) == 0)
      setup.groups.push_back({12 + upTo(20), 64});
    setup.policy.prefixCache = upTo(2) > 0;
    if (round % 2) {
      setup.moves = true;
      setup.fixed = {.slots = 2 + upTo(2 * setup.rows), .snapshotPages = 1 + upTo(2)};
    }
    FakeModel model(setup);
    for (int i = 0; i < 12; ++i) {
      SequenceOptions options;
      options.priority = int32_t(upTo(2));
      options.everyPosition = upTo(4) == 0;
      auto prompt = promptOf(1 + upTo(90), int32_t(upTo(3)));
      if (upTo(1))
        model.askGroup(prompt, 1 + upTo(80), 1 + upTo(setup.rows - 1), options);
      else
        model.ask(prompt, 1 + upTo(80), {.priority = options.priority}, int32_t(1 + upTo(3)));
      for (int64_t steps = upTo(10); steps > 0; --steps)
        model.step();
      if (upTo(9) == 0 && !model.groups.empty() && !model.groups.back().done)
        model.cancelGroup(model.groups.size() - 1);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << round;
    }
    model.run();
    ASSERT_FALSE(testing::Test::HasFailure()) << round;
  }
}
