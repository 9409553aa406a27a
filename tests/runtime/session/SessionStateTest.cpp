//===- SessionStateTest.cpp - A session whose model has a fixed-size state --===//
//
// The fake model has a recurrent state in addition to its keys and values. Whatever a session does with
// snapshots (page borders, forks, swaps, evictions), an answer equals the result of plain arithmetic.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Inspect.h"
#include "tests/runtime/sample/AllocationCount.h"
#include "tests/runtime/session/FakeSession.h"

#include <random>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class SessionStateTest : public FakeSessionTest {
protected:
  FakeOptions options() override {
    FakeOptions made;
    made.recurrent = true;
    return made;
  }
  static std::vector<int32_t> greedy(std::vector<int32_t> prompt, int64_t count) {
    return fakeGreedy(std::move(prompt), count, false, /*recurrent=*/true);
  }
  static Request endless(std::vector<int32_t> prompt, int64_t maxTokens) {
    Request wanted = request(std::move(prompt), maxTokens);
    wanted.ignoreEos = true;
    return wanted;
  }
};

} // namespace

TEST_F(SessionStateTest, anyChunksGiveTheSame) {
  const std::vector<int32_t> prompt = fakePrompt(150, 1);
  const std::vector<int32_t> expected = greedy(prompt, 12);
  EXPECT_NE(expected, fakeGreedy(prompt, 12, false)) << "the state counts";
  for (int64_t tokens : {1, 7, 32, 64, 512})
    for (int threads : {1, 3}) {
      SessionOptions options;
      options.maxBatchTokens = tokens;
      options.threads = threads;
      EXPECT_EQ(answer(*open(options), endless(prompt, 12)).ids, expected) << tokens;
    }
}

TEST_F(SessionStateTest, aPrefixIsFoundAsFarAsThereIsASnapshot) {
  SessionOptions options;
  options.context = 1024;
  auto session = open(options);
  std::vector<int32_t> prompt = fakePrompt(300, 1);
  EXPECT_EQ(answer(*session, endless(prompt, 20)).ids, greedy(prompt, 20));
  Completion again = answer(*session, endless(prompt, 20)); // resumes at the last page border
  EXPECT_EQ(again.cachedTokens, 288);
  EXPECT_EQ(again.ids, greedy(prompt, 20));
  prompt.resize(280); // pages up to 256; every eighth has a snapshot
  prompt.push_back(5);
  Completion other = answer(*session, endless(prompt, 20));
  EXPECT_EQ(other.cachedTokens, 256);
  EXPECT_EQ(other.ids, greedy(prompt, 20));
  prompt.resize(250); // seven pages, none of which has a snapshot
  Completion none = answer(*session, endless(prompt, 20));
  EXPECT_EQ(none.cachedTokens, 0);
  EXPECT_EQ(none.ids, greedy(prompt, 20));
}

TEST_F(SessionStateTest, slotsAreInTheMemoryPlan) {
  SessionOptions options;
  options.maxSeqs = 3;
  options.context = 512;
  auto session = open(options);
  const MemoryPlan &memory = session->memory();
  EXPECT_EQ(memory.slotBytes, 128u);
  EXPECT_EQ(memory.slots, 3u + 1 + 3 * 16 / 8);
  EXPECT_EQ(memory.states, memory.slots * 128);
}

TEST_F(SessionStateTest, choicesGoOnByThemselves) {
  for (int64_t rows : {1, 2, 8}) {
    SessionOptions options;
    options.maxSeqs = rows;
    options.context = 256;
    auto session = open(options), alone = open();
    Request wanted = endless(fakePrompt(70, 2), 40);
    wanted.sampling.temperature = 0.9f;
    wanted.sampling.seed = 11;
    wanted.sampling.topLogprobs = 3;
    auto ids = session->submit(wanted, 3);
    ASSERT_TRUE(ids) << ids.error().format();
    session->runUntilDone();
    for (uint32_t i = 0; i < 3; ++i) {
      Request single = wanted;
      single.sampling.choice = i;
      expectEqual(session->take((*ids)[i]), answer(*alone, single));
    }
  }
}

TEST_F(SessionStateTest, beamsFindWhatTheyFindInOneBatch) {
  auto found = [&](int64_t tokens, uint64_t kvPages) {
    SessionOptions options;
    options.maxSeqs = 8;
    options.context = 256;
    options.maxBatchTokens = tokens;
    options.kvMemoryBytes = kvPages * kFakePage;
    auto session = open(options);
    Request wanted = endless(fakePrompt(61, 4), 20);
    wanted.beams = BeamParams{.width = 4};
    auto beside = session->submit(endless(fakePrompt(90, 3), 60));
    auto ids = session->submit(wanted, 3);
    EXPECT_TRUE(ids && beside);
    session->runUntilDone();
    EXPECT_EQ(session->take(*beside).ids, greedy(fakePrompt(90, 3), 60));
    std::vector<std::vector<int32_t>> answers;
    for (RequestId id : *ids)
      answers.push_back(session->take(id).ids);
    return answers;
  };
  const auto whole = found(512, 64);
  EXPECT_EQ(whole[0].size(), 20u);
  EXPECT_EQ(found(9, 64), whole);
  EXPECT_EQ(found(33, 12), whole);
}

/// Batches are composed at random in little memory, with preemption by swap and by recompute, cached prefixes and
/// cancelled requests.
TEST_F(SessionStateTest, anyBatchLeavesAnswersAsTheyAre) {
  std::mt19937 random(7);
  auto below = [&](int n) { return int(random() % unsigned(n)); };
  uint64_t preemptions = 0, swaps = 0, hits = 0;
  for (int round = 0; round < 12; ++round) {
    SessionOptions options;
    options.maxSeqs = 1 + below(6);
    options.context = 320;
    options.maxBatchTokens = std::max<int64_t>(options.maxSeqs, 1 + below(100));
    options.kvMemoryBytes = uint64_t(11 + below(20)) * kFakePage;
    options.swapBytes = uint64_t(round % 2) * 40 * kFakePage;
    options.threads = 1 + below(3);
    auto session = open(options);
    std::vector<std::pair<RequestId, Request>> asked;
    for (int i = 0; i < 14; ++i) {
      std::vector<int32_t> prompt = fakePrompt(1 + below(200), 1); // with a common prefix
      for (int32_t id : fakePrompt(below(3) * below(40), i))
        prompt.push_back(id);
      Request wanted = endless(std::move(prompt), 1 + below(40));
      wanted.priority = below(3);
      wanted.cachePrefix = below(4) != 0;
      auto id = session->submit(wanted);
      ASSERT_TRUE(id) << id.error().format();
      asked.emplace_back(*id, wanted);
      for (int steps = below(8); steps > 0; --steps)
        session->step();
    }
    session->runUntilDone();
    for (auto &[id, wanted] : asked)
      ASSERT_EQ(session->take(id).ids, greedy(wanted.promptIds, wanted.maxTokens))
          << "round " << round;
    preemptions += session->stats().preemptions;
    swaps += session->stats().swaps;
    hits += session->stats().prefixHits;
    EXPECT_EQ(session->stats().pagesUsed, 0);
  }
  EXPECT_GT(preemptions, 10u);
  EXPECT_GT(swaps, 0u);
  EXPECT_GT(hits, 0u);
}

TEST_F(SessionStateTest, stepsAllocateNothing) {
  SessionOptions options;
  options.maxSeqs = 4;
  auto session = open(options);
  auto ids = session->submit(endless(fakePrompt(100, 9), 150), 4);
  ASSERT_TRUE(ids);
  for (int i = 0; i < 10; ++i)
    session->step();
  const int64_t before = allocationCount();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(session->step());
  EXPECT_EQ(allocationCount(), before);
}
