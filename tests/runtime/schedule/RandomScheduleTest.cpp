//===- RandomScheduleTest.cpp - Thousands of schedules, one result ---------===//
//
// Under any pool, limits, policy and traffic, every sequence must finish with the same answer as by itself, no page may
// be written that others read, and no page may be in use at the end.
//===----------------------------------------------------------------------===//
#include "tests/runtime/schedule/FakeModel.h"

#include <random>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

struct Totals {
  uint64_t preemptions = 0, swaps = 0, hits = 0, forks = 0, copies = 0;
  uint64_t drafts = 0, accepted = 0, replaced = 0;
};

void schedule(uint32_t seed, Totals &totals, bool fixed = false) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t n) { return int64_t(random() % n); };
  FakeSetup setup;
  setup.context = 64 + below(below(5) == 0 ? 700 : 200);
  setup.rows = 1 + below(7);
  int64_t most = 1 + below(60);
  setup.limits = {std::max(setup.rows, most), setup.rows + below(4), 1 + below(64)};
  int64_t step = std::min(setup.limits.maxBatchTokens, setup.limits.prefillChunk);
  auto pagesOf = [&](int64_t window) {
    int64_t alone = mostPagesHeld(window, setup.context, kPageTokens, step);
    return alone + below(uint32_t(2 * alone));
  };
  setup.groups = {{pagesOf(0), 0}};
  if (below(3) == 0) {
    int64_t window = 1 + below(100);
    setup.groups.push_back({pagesOf(window), window});
  }
  setup.moves = below(3) != 0;
  setup.swapPages = below(2) ? uint64_t(below(30)) : 0;
  setup.policy.order = QueueOrder(below(3));
  setup.policy.prefixCache = below(4) != 0;
  setup.policy.sparePages = below(3);
  setup.policy.chunks.rule = ChunkRule(below(2));
  setup.policy.chunks.order = PromptOrder(below(2));
  setup.policy.chunks.loneStep = 1e-3 * double(below(3));
  if (below(4) == 0)
    setup.policy.chunks.targetItl = 1e-3 * double(1 + below(10));
  if (seed % 3 == 1) { // drafts all wrong, all right, or mixed
    setup.drafts = 1 + seed % 7;
    setup.rightDrafts = int(seed / 3 % 4) * 100 / 3;
    setup.limits.logitsRows += seed % 11;
  }
  if (seed % 3 == 2) {
    setup.ahead = true;
    setup.ends = int(seed % 4);
  }
  if (fixed) { // from the slots that one sequence needs up to plenty
    setup.moves = true;
    setup.fixed.slots = 2 + seed / 5 % (4 * setup.rows);
    setup.fixed.snapshotPages = 1 + seed % 4;
  }
  FakeModel model(setup);
  int64_t toAdd = 3 + below(14);
  std::vector<SequenceId> single;
  while (toAdd > 0 || model.scheduler.running() || model.scheduler.queued()) {
    if (toAdd > 0 && below(3) == 0) {
      --toAdd;
      int64_t prompt = 1 + below(uint32_t(setup.context - 1));
      int64_t maxNew = 1 + below(uint32_t(setup.context - prompt + 1));
      SequenceOptions options;
      options.priority = int32_t(below(3));
      options.user = below(3);
      options.cachePrefix = below(5) != 0;
      options.cacheSalt = uint64_t(below(2));
      auto choices = int32_t(1 + (below(3) == 0 && !setup.ahead ? below(4) : 0));
      SequenceId id = model.ask(promptOf(prompt, int32_t(below(3))), maxNew, options, choices);
      if (choices == 1)
        single.push_back(id);
    }
    if (!single.empty() && below(25) == 0) {
      SequenceId id = single[size_t(below(uint32_t(single.size())))];
      if (!model.answers.at(id).done)
        model.cancel(id);
    }
    if (below(20) == 0)
      model.scheduler.plan(); // a plan that is not carried out
    model.step();
    if (testing::Test::HasFatalFailure() || model.steps > 100000) {
      ADD_FAILURE() << "schedule " << seed << " after " << model.steps << " steps";
      return;
    }
  }
  model.run();
  ScheduleStats stats = model.scheduler.stats();
  totals.preemptions += stats.preemptions;
  totals.swaps += stats.swaps;
  totals.hits += stats.prefixHits;
  totals.forks += stats.forks;
  totals.copies += stats.copiedPages;
  totals.replaced += uint64_t(model.replaced);
  totals.drafts += stats.draftTokens;
  totals.accepted += stats.acceptedTokens;
}

} // namespace

TEST(RandomSchedule, everySequenceAnswersAsAlone) {
  Totals totals;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    schedule(seed, totals);
    ASSERT_FALSE(HasFailure()) << "schedule " << seed;
  }
  // Check that each kind of event has occurred.
  EXPECT_GT(totals.preemptions, 1000u);
  EXPECT_GT(totals.swaps, 300u);
  EXPECT_GT(totals.hits, 10000u);
  EXPECT_GT(totals.forks, 1000u);
  EXPECT_GT(totals.copies, 300u);
  EXPECT_GT(totals.accepted, 10000u);
  EXPECT_GT(totals.drafts, totals.accepted + 10000u);
}

/// The same test with a recurrent state in addition to the pages.
TEST(RandomSchedule, everySnapshotIsThatOfItsTokens) {
  Totals totals;
  for (uint32_t seed = 10000; seed < 11500; ++seed) {
    schedule(seed, totals, /*fixed=*/true);
    ASSERT_FALSE(HasFailure()) << "schedule " << seed;
  }
  EXPECT_GT(totals.preemptions, 1000u);
  EXPECT_GT(totals.swaps, 200u);
  EXPECT_GT(totals.hits, 5000u);
  EXPECT_GT(totals.forks, 500u);
  EXPECT_GT(totals.accepted, 1000u);
  EXPECT_GT(totals.replaced, 10000u);
}
