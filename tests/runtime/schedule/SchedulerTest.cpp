//===- SchedulerTest.cpp - Batches: complete, in order, within limits ------===//
#include "tests/runtime/schedule/FakeModel.h"

#include <random>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

TEST(Scheduler, everyChunkSizeFeedsEveryTokenOnce) {
  for (int64_t chunk : {1, 7, 64, 512}) {
    FakeSetup setup;
    setup.limits.prefillChunk = chunk;
    FakeModel model(setup);
    SequenceId id = model.ask(promptOf(300), 20);
    model.run();
    EXPECT_EQ(model.computed, 300 + 19);
    EXPECT_EQ(model.answers.at(id).rows, 20);
    EXPECT_EQ(model.steps, (300 + chunk - 1) / chunk + 19) << chunk;
  }
}

TEST(Scheduler, decodesGoFirstAndChunksFillTheRest) {
  FakeSetup setup;
  setup.limits = {16, 4, 16};
  FakeModel model(setup);
  model.ask(promptOf(1), 30);
  model.ask(promptOf(2), 30);
  model.step();
  model.ask(promptOf(100), 1);
  model.step();
  auto shares = model.scheduler.shares();
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_EQ(shares[0].tokens, 1);
  EXPECT_EQ(shares[1].tokens, 1);
  EXPECT_EQ(shares[2].tokens, 14);
  model.run();
}

TEST(Scheduler, admitsByPagesInOrderOfArrival) {
  FakeSetup setup;
  setup.groups = {{4, 0}};
  setup.rows = 8;
  setup.context = 128;
  setup.limits = {64, 8, 64};
  FakeModel model(setup);
  SequenceId first = model.ask(promptOf(64, 1), 33);  // 3 pages
  SequenceId second = model.ask(promptOf(40, 2), 30); // 2 pages plus a reserve of one: it waits
  SequenceId third = model.ask(promptOf(1, 3), 1);    // would fit, but may not overtake
  model.step();
  EXPECT_EQ(model.scheduler.running(), 1);
  EXPECT_EQ(model.scheduler.queued(), 2);
  model.run();
  EXPECT_EQ(model.finished, (std::vector<SequenceId>{first, third, second}));
  EXPECT_EQ(model.scheduler.stats().preemptions, 0u);
}

TEST(Scheduler, admitsMoreThanWorstCasesWouldLet) {
  FakeSetup setup;
  setup.groups = {{8, 0}};
  setup.rows = 6;
  setup.context = 256;
  setup.limits = {64, 6, 64};
  FakeModel model(setup);
  for (int i = 0; i < 4; ++i)
    model.ask(promptOf(20, i), 200); // 7 pages each at the end, one now
  model.step();
  EXPECT_EQ(model.scheduler.running(), 4);
  model.run();
}

TEST(Scheduler, everyPositionGivesARowPerTokenWithinTheRowLimit) {
  for (int64_t rows : {1, 5, 64}) {
    FakeSetup setup;
    setup.rows = 1;
    setup.limits = {32, rows, 512};
    FakeModel model(setup);
    SequenceOptions options;
    options.everyPosition = true;
    SequenceId id = model.ask(promptOf(100), 0, options);
    model.run();
    EXPECT_EQ(model.answers.at(id).rows, 100);
    // Its pages are not cached, because it requested every row. The following sequences do the same.
    EXPECT_EQ(model.pool.pagesCached(), 0);
    id = model.ask(promptOf(100), 0, options);
    model.run();
    EXPECT_EQ(model.answers.at(id).rows, 100);
  }
}

TEST(Scheduler, aPromptWaitsForARowWithoutLosingTokens) {
  // If one sequence takes all rows of a step, the other must not compute its last token in it.
  FakeSetup setup;
  setup.rows = 2;
  setup.limits = {64, 2, 8};
  FakeModel model(setup);
  SequenceOptions every;
  every.everyPosition = true;
  SequenceId rows = model.ask(promptOf(40), 0, every);
  SequenceId plain = model.ask(promptOf(3), 4);
  model.run();
  EXPECT_EQ(model.answers.at(rows).rows, 40);
  EXPECT_EQ(model.answers.at(plain).rows, 4);
}

TEST(Scheduler, finishFreesQueuedAndRunning) {
  FakeSetup setup;
  setup.groups = {{4, 0}};
  setup.rows = 2;
  setup.context = 128;
  setup.limits = {64, 2, 64};
  FakeModel model(setup);
  SequenceId running = model.ask(promptOf(100), 20);
  SequenceId queued = model.ask(promptOf(100, 1), 20);
  model.step();
  EXPECT_GT(model.pool.pagesInUse(), 0);
  model.cancel(queued);
  EXPECT_EQ(model.scheduler.queued(), 0);
  model.cancel(running);
  model.expectNothingHeld();
  EXPECT_EQ(model.scheduler.plan(), nullptr);
}

TEST(Scheduler, aPlanMayBeMadeAgain) {
  FakeModel model({});
  model.ask(promptOf(40), 5);
  model.ask(promptOf(7, 1), 5);
  for (int i = 0; i < 3; ++i) {
    const BatchView *batch = model.scheduler.plan();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->tokens, 47);
    EXPECT_EQ(model.scheduler.work().tokens, 47);
    EXPECT_EQ(model.scheduler.work().positions, 40 * 41 / 2 + 7 * 8 / 2);
    EXPECT_EQ(model.scheduler.work().rows, 2);
  }
  model.run();
}

/// Some ids are known only to the device so far. A page with such an id has no name yet.
TEST(Scheduler, unknownTokensAreNamedOnceTheyAreKnown) {
  FakeSetup setup;
  FakeModel model(setup);
  SequenceOptions options;
  options.maxNew = 40;
  std::vector<int32_t> prompt = promptOf(63), tokens = prompt;
  SequenceId id = model.scheduler.add(prompt, options);
  ASSERT_TRUE(model.scheduler.plan());
  model.scheduler.complete();
  model.scheduler.append(id, ~0); // the last token of the second page
  ASSERT_TRUE(model.scheduler.plan());
  model.scheduler.complete();
  PrefixHasher hasher;
  model.scheduler.append(id, 5);
  tokens.push_back(5);
  model.scheduler.append(id, ~0);
  ASSERT_TRUE(model.scheduler.plan());
  model.scheduler.complete();
  model.scheduler.append(id, 6);
  model.scheduler.finish(id);
  EXPECT_EQ(model.pool.pagesCached(), 2);
  tokens.insert(tokens.end(), {6, 7});
  id = model.scheduler.add(tokens, options);
  ASSERT_TRUE(model.scheduler.plan());
  EXPECT_EQ(model.scheduler.cachedTokens(id), 64);
}

TEST(Scheduler, mixedTrafficEndsWithEveryTokenFedOnce) {
  std::mt19937 random(12);
  for (int64_t chunk : {1, 7, 64, 512}) {
    FakeSetup setup;
    setup.groups = {{150, 0}};
    setup.rows = 9;
    setup.context = 400;
    setup.limits = {61, 9, chunk};
    setup.policy.prefixCache = false;
    FakeModel model(setup);
    int added = 0;
    int64_t tokens = 0;
    while (added < 120 || model.scheduler.running() || model.scheduler.queued()) {
      if (added < 120 && random() % 3 == 0) {
        int64_t prompt = 1 + int64_t(random() % 300), maxNew = 1 + int64_t(random() % 100);
        model.ask(promptOf(prompt, added), maxNew);
        tokens += prompt + maxNew - 1;
        ++added;
      }
      model.step();
      ASSERT_FALSE(HasFatalFailure());
      ASSERT_LT(model.steps, 200000);
    }
    model.run(); // runs the checks at the end
    EXPECT_EQ(model.finished.size(), 120u);
    EXPECT_EQ(model.computed, tokens);
    EXPECT_EQ(model.scheduler.stats().preemptions, 0u); // there are pages for all rows
    EXPECT_LE(model.mostTokens, 61);
    EXPECT_GT(model.mostTokens, 8);
  }
}

/// Returns the sequence's number of tokens in the batch that was planned last.
static int64_t shareOf(const FakeModel &model, SequenceId id) {
  for (Scheduler::Share share : model.scheduler.shares())
    if (share.sequence == id)
      return share.tokens;
  return 0;
}

TEST(Scheduler, aShortPromptPassesALongOne) {
  FakeSetup setup;
  setup.limits = {64, 4, 64};
  FakeModel model(setup);
  SequenceId first = model.ask(promptOf(400), 1);
  model.step();
  EXPECT_EQ(shareOf(model, first), 64);
  SequenceId middle = model.ask(promptOf(100, 1), 1);
  SequenceId shortest = model.ask(promptOf(10, 2), 1);
  model.step();
  EXPECT_EQ(shareOf(model, shortest), 10);
  EXPECT_EQ(shareOf(model, middle), 22);
  EXPECT_EQ(shareOf(model, first), 32) << "half";
  EXPECT_EQ(model.finished, std::vector<SequenceId>{shortest});
  model.run();
  EXPECT_EQ(model.finished, (std::vector<SequenceId>{shortest, middle, first}));
}

TEST(Scheduler, theFirstIsNeverHeldUpByMoreThanHalf) {
  FakeSetup setup;
  setup.limits = {64, 4, 64};
  FakeModel model(setup);
  SequenceId first = model.ask(promptOf(400), 1);
  for (int i = 1; !model.answers.at(first).done; ++i) {
    ASSERT_LE(model.steps, 400 / 32 + 1);
    model.ask(promptOf(40, i), 1);
    model.ask(promptOf(30, -i), 1);
    model.step();
  }
  model.run();
}

TEST(Scheduler, aBetterPriorityGoesBeforeTheShortest) {
  FakeSetup setup;
  setup.limits = {64, 4, 64};
  FakeModel model(setup);
  SequenceOptions urgent, patient;
  patient.priority = 1;
  SequenceId shortest = model.ask(promptOf(10), 1, patient);
  SequenceId first = model.ask(promptOf(200, 1), 1, urgent);
  model.step();
  EXPECT_EQ(shareOf(model, first), 64);
  EXPECT_EQ(shareOf(model, shortest), 0);
  model.run();
}

/// With fair shares, the first prompt of the least-served user gets half of a step. One user's many
/// short prompts and another user's long one then get about the same.
TEST(Scheduler, fairUsersShareStepsOfPrompts) {
  FakeSetup setup;
  setup.limits = {64, 4, 64};
  setup.policy.order = QueueOrder::Fair;
  FakeModel model(setup);
  SequenceOptions one, many;
  one.user = 1;
  many.user = 2;
  int64_t ofOne = 0, ofMany = 0;
  SequenceId first = model.ask(promptOf(480), 1, one);
  model.step();
  EXPECT_EQ(shareOf(model, first), 64);
  for (int i = 1; !model.answers.at(first).done; ++i) {
    model.ask(promptOf(50, i), 1, many);
    model.step();
    for (Scheduler::Share share : model.scheduler.shares())
      (share.sequence == first ? ofOne : ofMany) += share.tokens;
  }
  EXPECT_GT(double(ofMany), 0.8 * double(ofOne));
  EXPECT_LT(double(ofMany), 1.25 * double(ofOne));
  model.run();
}
