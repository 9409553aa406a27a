//===- DraftsTest.cpp - Draft tokens that are proposed and rolled back -----===//
//
// Checks the cost of each kind of guess. RandomScheduleTest covers all of them together.
//===----------------------------------------------------------------------===//
#include "tests/runtime/schedule/FakeModel.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

FakeSetup drafting(int64_t drafts, int right) {
  FakeSetup setup;
  setup.limits.logitsRows = 64;
  setup.drafts = drafts;
  setup.rightDrafts = right;
  return setup;
}

} // namespace

TEST(Drafts, rightOnesSpareSteps) {
  FakeModel model(drafting(4, 100));
  model.ask(promptOf(40), 100);
  model.run();
  ScheduleStats stats = model.scheduler.stats();
  EXPECT_LT(model.steps, 45) << "of 100";
  EXPECT_EQ(stats.acceptedTokens, stats.draftTokens) << "none is proposed behind the end";
  EXPECT_EQ(stats.decodeTokens, 99u) << "as without";
}

TEST(Drafts, wrongOnesChangeNothing) {
  FakeModel with(drafting(4, 0)), without(drafting(0, 0));
  for (FakeModel *model : {&with, &without})
    for (int seed = 0; seed < 3; ++seed)
      model->ask(promptOf(30 + seed, seed), 70);
  while (without.step()) {
    ASSERT_TRUE(with.step());
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(with.pool.pagesInUse(), without.pool.pagesInUse());
    ASSERT_EQ(with.pool.availablePages(), without.pool.availablePages());
    ASSERT_EQ(with.pool.pagesCached(), without.pool.pagesCached());
  }
  with.run();
  EXPECT_GT(with.scheduler.stats().draftTokens, 200u);
  EXPECT_EQ(with.scheduler.stats().acceptedTokens, 0u);
}

/// Prompts and answers get their tokens and rows whatever is proposed, and no sequence is preempted.
TEST(Drafts, takeWhatIsLeft) {
  FakeSetup setup = drafting(16, 50);
  setup.groups = {{12, 0}};
  setup.context = 128;
  setup.limits = {6, 5, 6};
  FakeModel model(setup);
  for (int seed = 0; seed < 4; ++seed)
    model.ask(promptOf(20, seed), 70);
  model.run();
  EXPECT_EQ(model.scheduler.stats().preemptions, 0u);
  EXPECT_GT(model.scheduler.stats().draftTokens, 0u);

  setup.limits = {4, 4, 4}; // nothing is left for drafts
  FakeModel full(setup);
  for (int seed = 0; seed < 4; ++seed)
    full.ask(promptOf(20, seed), 70);
  while (full.scheduler.stats().decodeTokens == 0 || full.scheduler.running() == 4)
    ASSERT_TRUE(full.step());
  EXPECT_EQ(full.scheduler.stats().draftTokens, 0u);
  full.run();
}

TEST(Drafts, outliveAPlanThatWasNotCarriedOut) {
  FakeModel model(drafting(0, 0));
  SequenceId id = model.ask(promptOf(30), 60);
  model.step();
  model.step();
  const std::vector<int32_t> guess{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  model.scheduler.propose(id, guess);
  EXPECT_EQ(model.scheduler.plan()->tokens, 11);
  EXPECT_EQ(model.pool.pagesInUse(), 2);
  EXPECT_EQ(model.scheduler.plan()->tokens, 11);
  model.scheduler.propose(id, {});
  EXPECT_EQ(model.scheduler.plan()->tokens, 1);
  EXPECT_EQ(model.pool.pagesInUse(), 1) << "the page for the drafts is given back";
  model.run();
}
