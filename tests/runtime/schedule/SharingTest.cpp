//===- SharingTest.cpp - Prefix cache and forks ----------------------------===//
#include "tests/runtime/schedule/FakeModel.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

TEST(Sharing, aPrefixIsComputedOnce) {
  FakeModel model({});
  model.ask(promptOf(100), 10);
  model.run();
  EXPECT_EQ(model.computed, 109);
  SequenceId again = model.ask(promptOf(100), 10);
  model.step();
  EXPECT_EQ(model.scheduler.cachedTokens(again), 96);
  model.run();
  EXPECT_EQ(model.computed, 109 + 4 + 9);
  ScheduleStats stats = model.scheduler.stats();
  EXPECT_EQ(stats.prefixQueries, 200u);
  EXPECT_EQ(stats.prefixHits, 96u);
  EXPECT_EQ(stats.pagesUsed, 0);
  EXPECT_EQ(stats.pagesCached, 3);
}

TEST(Sharing, atLeastTheLastTokenIsComputed) {
  FakeModel model({});
  model.ask(promptOf(96), 2);
  model.run();
  SequenceId again = model.ask(promptOf(96), 2);
  model.step();
  EXPECT_EQ(model.scheduler.cachedTokens(again), 64);
  model.run();
}

TEST(Sharing, answersAreFoundToo) {
  FakeModel model({});
  SequenceId first = model.ask(promptOf(40), 60);
  model.run();
  std::vector<int32_t> turn = model.answers.at(first).tokens; // the next turn of a chat
  turn.push_back(3);
  SequenceId next = model.ask(turn, 5);
  model.step();
  EXPECT_EQ(model.scheduler.cachedTokens(next), 96);
  model.run();
}

TEST(Sharing, runningSequencesShareAtOnce) {
  FakeSetup setup;
  setup.limits.prefillChunk = 64;
  FakeModel model(setup);
  model.ask(promptOf(200), 30);
  for (int i = 0; i < 4; ++i)
    model.step();
  int64_t before = model.pool.pagesInUse();
  model.ask(promptOf(200), 30);
  model.step();
  EXPECT_EQ(model.pool.pagesInUse(), before + 1);
  model.run();
}

TEST(Sharing, saltsAndRefusalsKeepApart) {
  FakeModel model({});
  SequenceOptions salted, off;
  salted.cacheSalt = 9;
  off.cachePrefix = false;
  model.ask(promptOf(100), 2, salted);
  model.ask(promptOf(100), 2, off);
  model.run();
  EXPECT_EQ(model.pool.pagesCached(), 3) << "the salted one's";
  SequenceId plain = model.ask(promptOf(100), 2), other = model.ask(promptOf(100), 2, off);
  SequenceId same = model.ask(promptOf(100), 2, salted);
  model.step();
  EXPECT_EQ(model.scheduler.cachedTokens(plain), 0);
  EXPECT_EQ(model.scheduler.cachedTokens(other), 0);
  EXPECT_EQ(model.scheduler.cachedTokens(same), 96);
  model.run();

  FakeSetup setup;
  setup.policy.prefixCache = false;
  FakeModel none(setup);
  none.ask(promptOf(100), 2);
  none.run();
  EXPECT_EQ(none.pool.pagesCached(), 0);
}

TEST(Sharing, cachedPagesAreEvicted) {
  FakeSetup setup;
  setup.groups = {{10, 0}};
  setup.rows = 2;
  FakeModel model(setup);
  for (int seed = 0; seed < 6; ++seed) // each leaves four pages cached
    model.ask(promptOf(130, seed), 20);
  model.run();
  EXPECT_EQ(model.scheduler.stats().preemptions, 0u);
  EXPECT_GT(model.pool.pagesCached(), 5);
  model.ask(promptOf(300, 9), 20); // takes the whole pool
  model.run();
}

TEST(Sharing, forksComputeThePromptOnce) {
  for (bool moves : {true, false})
    for (int64_t prompt : {1, 31, 32, 33, 64, 100}) {
      FakeSetup setup;
      setup.rows = 8;
      setup.limits.logitsRows = 8;
      setup.moves = moves;
      FakeModel model(setup);
      model.ask(promptOf(prompt), 40, {}, 5);
      model.step();
      EXPECT_EQ(model.scheduler.running(), 5);
      EXPECT_EQ(model.pool.pagesInUse(), model.pool.pagesFor(prompt)) << "nothing is written yet";
      model.run();
      ScheduleStats stats = model.scheduler.stats();
      EXPECT_EQ(stats.forks, 4u);
      bool partial = prompt % kPageTokens != 0;
      EXPECT_EQ(stats.copiedPages, moves && partial ? 4u : 0u);
      // Without copies, each fork but the last recomputes the partial page.
      int64_t again = !moves && partial ? 4 * (prompt % kPageTokens) : 0;
      EXPECT_EQ(model.computed, prompt + 5 * 39 + again);
    }
}

TEST(Sharing, forksWithoutARowWait) {
  for (bool cache : {true, false}) {
    FakeSetup setup;
    setup.rows = 2;
    setup.policy.prefixCache = cache;
    FakeModel model(setup);
    model.ask(promptOf(70), 30, {}, 6);
    model.step();
    EXPECT_EQ(model.scheduler.running(), 2);
    EXPECT_EQ(model.scheduler.queued(), 4);
    model.run();
    EXPECT_EQ(model.finished.size(), 6u);
  }
}

/// At any step some sequences fork and others end, as in a beam search.
TEST(Sharing, beamsForkAndEndAtAnyStep) {
  for (bool moves : {true, false}) {
    FakeSetup setup;
    setup.rows = 4;
    setup.moves = moves;
    FakeModel model(setup);
    SequenceId first = model.ask(promptOf(45), 60, {}, 4);
    for (int round = 0; round < 50; ++round) {
      ASSERT_TRUE(model.step());
      ASSERT_FALSE(HasFatalFailure());
      // The second youngest ends and the oldest forks. Their tokens differ from here on.
      std::vector<SequenceId> alive;
      for (auto &[id, own] : model.answers)
        if (!own.done)
          alive.push_back(id);
      if (alive.size() < 4)
        break;
      model.cancel(alive[2]);
      SequenceId parent = alive[size_t(round) % 2];
      SequenceId child = model.scheduler.reserveId();
      FakeModel::Answer own = model.answers.at(parent);
      int32_t last = own.tokens.back();
      model.scheduler.fork(parent, child);
      model.answers[child] = own;
      EXPECT_EQ(last, model.answers[child].tokens.back());
    }
    for (auto &[id, own] : model.answers)
      if (!own.done)
        model.cancel(id);
    model.expectNothingHeld();
    EXPECT_GE(first, 0);
  }
}

TEST(Sharing, windowsShareTheirLastWindow) {
  FakeSetup setup;
  setup.groups = {{60, 0}, {40, 64}};
  setup.limits = {48, 4, 48};
  FakeModel model(setup);
  model.ask(promptOf(400), 20);
  model.run();
  SequenceId again = model.ask(promptOf(400), 20);
  model.step();
  EXPECT_EQ(model.scheduler.cachedTokens(again), 384);
  model.run();
  // A shorter prefix ends where the window's pages were released long ago, but they are still cached.
  SequenceId shorter = model.ask(promptOf(200), 20);
  model.step();
  EXPECT_EQ(model.scheduler.cachedTokens(shorter), 192);
  model.run();
}

/// Releasing pages that have left a window does not make them available if others hold them too.
TEST(Sharing, longWindowsUnderPressure) {
  FakeSetup setup;
  setup.groups = {{69, 0}, {34, 512}};
  setup.context = 1536;
  setup.limits = {64, 4, 64};
  FakeModel model(setup);
  for (int64_t prompt : {1200, 900, 1190, 700, 1200})
    model.ask(promptOf(prompt), 24);
  model.run();
}
