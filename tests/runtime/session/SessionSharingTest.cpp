//===- SessionSharingTest.cpp - Prefixes, choices, preemption: same answers -===//
//
// Tests batch invariance under sharing and preemption by the scheduler. An answer with a cached
// prefix, as one of several choices, or after preemption by swap or by recompute equals the answer
// of the request run by itself: ids and log-probabilities are bit-identical.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Inspect.h"
#include "tests/runtime/sample/AllocationCount.h"
#include "tests/runtime/session/FakeSession.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class SessionSharingTest : public FakeSessionTest {
protected:
  static Request sampled(std::vector<int32_t> prompt, int64_t maxTokens, uint64_t seed) {
    Request wanted = request(std::move(prompt), maxTokens);
    wanted.sampling.temperature = 0.9f;
    wanted.sampling.topP = 0.95f;
    wanted.sampling.seed = seed;
    wanted.sampling.topLogprobs = 3;
    wanted.ignoreEos = true;
    return wanted;
  }
};

} // namespace

TEST_F(SessionSharingTest, aHitAnswersLikeAMiss) {
  auto session = open();
  Completion miss = answer(*session, sampled(fakePrompt(100, 1), 40, 5));
  Completion hit = answer(*session, sampled(fakePrompt(100, 1), 40, 5));
  EXPECT_EQ(miss.cachedTokens, 0);
  EXPECT_EQ(hit.cachedTokens, 96);
  expectEqual(hit, miss);
  EXPECT_EQ(session->stats().prefixQueries, 200u);
  EXPECT_EQ(session->stats().prefixHits, 96u);

  // A chat's next turn begins with the prompt and answer of the previous one.
  std::vector<int32_t> turn = fakePrompt(100, 1);
  turn.insert(turn.end(), hit.ids.begin(), hit.ids.end());
  turn.push_back(7);
  Completion next = answer(*session, request(turn, 20));
  EXPECT_EQ(next.cachedTokens, 128);
  EXPECT_EQ(next.ids, fakeGreedy(turn, 20, true));
}

TEST_F(SessionSharingTest, theCacheCanBeLeftOut) {
  auto session = open();
  answer(*session, request(fakePrompt(100, 1), 4));
  Request without = request(fakePrompt(100, 1), 4), salted = without;
  without.cachePrefix = false;
  salted.cacheSalt = 1;
  EXPECT_EQ(answer(*session, without).cachedTokens, 0);
  EXPECT_EQ(answer(*session, salted).cachedTokens, 0);
  EXPECT_EQ(answer(*session, salted).cachedTokens, 96);
  SessionOptions options;
  options.prefixCache = false;
  session = open(options);
  answer(*session, request(fakePrompt(100, 1), 4));
  EXPECT_EQ(answer(*session, request(fakePrompt(100, 1), 4)).cachedTokens, 0);
}

TEST_F(SessionSharingTest, logitsAndScoresDoNotMeetTheCache) {
  auto session = open();
  std::vector<int32_t> ids = fakePrompt(100, 1);
  answer(*session, request(ids, 4));
  int64_t rows = 0;
  for (int round = 0; round < 2; ++round)
    ASSERT_TRUE(session->logits(
        ids, [&](int64_t, int64_t count, const float *, int64_t) { rows += count; }));
  EXPECT_EQ(rows, 200);
}

TEST_F(SessionSharingTest, choicesAnswerAsEachAlone) {
  for (int64_t rows : {1, 2, 8}) {
    SessionOptions options;
    options.maxSeqs = rows;
    options.context = 256;
    auto session = open(options);
    std::vector<int32_t> prompt = fakePrompt(50, 2);
    std::vector<std::vector<int32_t>> heard(3);
    Request wanted = sampled(prompt, 30, 11);
    wanted.sampling.choice = 4;
    wanted.onToken = [&](const TokenEvent &event) { heard[event.choice - 4].push_back(event.id); };
    auto ids = session->submit(wanted, 3);
    ASSERT_TRUE(ids) << ids.error().format();
    ASSERT_EQ(ids->size(), 3u);
    session->runUntilDone();
    if (rows == 8) // 50 tokens once, then 29 each
      EXPECT_EQ(session->stats().promptTokens + session->stats().decodeTokens, 50u + 3 * 29);
    EXPECT_EQ(session->stats().pagesUsed, 0);
    auto alone = open();
    std::vector<std::vector<int32_t>> answers;
    for (uint32_t i = 0; i < 3; ++i) {
      Completion one = session->take((*ids)[i]);
      Request single = sampled(prompt, 30, 11);
      single.sampling.choice = 4 + i;
      expectEqual(one, answer(*alone, single));
      EXPECT_EQ(heard[i], one.ids);
      answers.push_back(one.ids);
    }
    EXPECT_NE(answers[0], answers[1]);
    EXPECT_NE(answers[1], answers[2]);
  }
}

TEST_F(SessionSharingTest, choicesEndByThemselves) {
  // Some answers reach stop ids, one as its first id. The other choices continue.
  auto session = open();
  Request probe = sampled(fakePrompt(50, 2), 10, 11);
  std::vector<int32_t> first;
  for (uint32_t i = 0; i < 4; ++i) {
    probe.sampling.choice = i;
    first.push_back(answer(*session, probe).ids[0]);
  }
  SessionOptions options;
  options.maxSeqs = 4;
  auto together = open(options);
  for (int32_t stop : {first[0], first[1], first[3]}) {
    Request wanted = sampled(fakePrompt(50, 2), 10, 11);
    wanted.stopIds = {stop};
    auto ids = together->submit(wanted, 4);
    ASSERT_TRUE(ids);
    together->runUntilDone();
    for (uint32_t i = 0; i < 4; ++i) {
      Request single = wanted;
      single.sampling.choice = i;
      EXPECT_EQ(together->take((*ids)[i]).ids, answer(*session, single).ids) << i;
    }
  }
  EXPECT_EQ(together->stats().pagesUsed, 0);
}

TEST_F(SessionSharingTest, choicesAreCancelledTogether) {
  for (int steps : {0, 1, 3}) {
    SessionOptions options;
    options.maxSeqs = 2;
    options.maxBatchTokens = 40; // a prompt of two steps
    auto session = open(options);
    std::atomic<bool> cancel = false;
    Request wanted = sampled(fakePrompt(50, 2), 30, 1);
    wanted.cancel = &cancel;
    auto ids = session->submit(wanted, 4);
    ASSERT_TRUE(ids);
    for (int i = 0; i < steps; ++i)
      session->step();
    cancel = true;
    session->runUntilDone();
    for (RequestId id : *ids) {
      ASSERT_TRUE(session->finished(id));
      EXPECT_EQ(session->take(id).finishReason, FinishReason::Cancelled);
    }
    EXPECT_EQ(session->stats().pagesUsed, 0);
    EXPECT_EQ(session->stats().running + session->stats().waiting, 0);
  }
}

/// With this many choices, a step checks some before the flag is set and others after. None may be
/// cancelled without the others, since the first choice of a request passes its row on to the
/// others.
TEST_F(SessionSharingTest, choicesAreCancelledTogetherAtAnyMoment) {
  constexpr int kRequests = 40;
  SessionOptions options;
  options.maxSeqs = 2;
  options.maxBatchTokens = 1; // a prompt of many steps
  for (int round = 0; round < 20; ++round) {
    auto session = open(options);
    std::atomic<bool> begins = false, cancel = false;
    Request wanted = sampled(fakePrompt(60, 2), 4, 1);
    wanted.cancel = &cancel;
    std::vector<RequestId> ids;
    for (int i = 0; i < kRequests; ++i) {
      auto own = session->submit(wanted, Session::kMostChoices);
      ASSERT_TRUE(own);
      ids.insert(ids.end(), own->begin(), own->end());
    }
    std::thread client([&] {
      while (!begins)
        std::this_thread::yield();
      for (const auto end =
               std::chrono::steady_clock::now() + std::chrono::microseconds(20 * round);
           std::chrono::steady_clock::now() < end;) {
      }
      cancel = true;
    });
    begins = true;
    for (int steps = 0; !ids.empty(); ++steps) {
      // The client is slow. No prompt is finished yet, with two tokens per step.
      while (steps >= 25 && !cancel)
        std::this_thread::yield();
      EXPECT_NO_THROW(session->step());
      std::erase_if(ids, [&](RequestId id) {
        if (!session->finished(id))
          return false;
        const Completion taken = session->take(id); // at once, as a server does
        EXPECT_EQ(taken.finishReason, FinishReason::Cancelled);
        return true;
      });
    }
    client.join();
    EXPECT_EQ(session->stats().pagesUsed, 0);
  }
}

TEST_F(SessionSharingTest, refusesNumbersOfChoices) {
  auto session = open();
  for (int32_t choices : {0, -1, Session::kMostChoices + 1})
    EXPECT_EQ(session->submit(request({1}, 2), choices).error().code, "E0501");
}

/// There are too few pages for all requests and their choices. The test uses three ways of preemption.
TEST_F(SessionSharingTest, preemptedRequestsAnswerAsAlone) {
  constexpr int kRequests = 10;
  auto wantedOf = [](int i) {
    return sampled(fakePrompt(10 + (i * 37) % 90, i), 40 + (i * 29) % 90, uint64_t(i));
  };
  auto alone = open();
  std::vector<Completion> expected;
  for (int i = 0; i < kRequests; ++i)
    for (uint32_t choice = 0; choice < 2; ++choice) {
      Request one = wantedOf(i);
      one.sampling.choice = choice;
      expected.push_back(answer(*alone, one));
    }
  for (uint64_t swapPages : {0, 3, 100}) {
    SessionOptions options;
    options.maxSeqs = 8;
    options.context = 256;
    options.kvMemoryBytes = 9 * kFakePage; // 288 positions; all together need 3,700
    options.swapBytes = swapPages * kFakePage;
    auto session = open(options);
    std::vector<RequestId> ids;
    for (int i = 0; i < kRequests; ++i) {
      auto two = session->submit(wantedOf(i), 2);
      ASSERT_TRUE(two) << two.error().format();
      ids.insert(ids.end(), two->begin(), two->end());
    }
    session->runUntilDone();
    for (size_t i = 0; i < ids.size(); ++i)
      expectEqual(session->take(ids[i]), expected[i]);
    ScheduleStats stats = session->stats();
    EXPECT_GT(stats.preemptions, 3u);
    EXPECT_EQ(stats.pagesUsed, 0);
    EXPECT_EQ(stats.pages, 9);
  }
}

/// Measured times decide here between swap and recompute. The accounting is exact in both cases.
TEST_F(SessionSharingTest, swapsAreCountedAndInTheMemoryPlan) {
  SessionOptions options;
  options.maxSeqs = 2;
  options.context = 256;
  options.kvMemoryBytes = 8 * kFakePage;
  uint64_t without = open(options)->memory().taken();
  options.swapBytes = 16 * kFakePage;
  auto session = open(options);
  EXPECT_EQ(session->memory().taken(), without + 16 * kFakePage);
  EXPECT_NE(session->memory().text().find("swap"), std::string::npos);
  auto a = session->submit(sampled(fakePrompt(20, 1), 190, 1));
  auto b = session->submit(sampled(fakePrompt(20, 2), 190, 2));
  ASSERT_TRUE(a && b);
  session->runUntilDone();
  EXPECT_EQ(session->stats().preemptions, 1u);
  EXPECT_EQ(session->stats().swappedBytes, session->stats().swaps * 4 * kFakePage);
  EXPECT_EQ(session->stats().swapBytesUsed, 0u);
}

TEST_F(SessionSharingTest, prioritiesGoFirst) {
  SessionOptions options;
  options.maxSeqs = 1;
  auto session = open(options);
  std::vector<int> ended;
  auto ask = [&](int name, int32_t priority) {
    Request wanted = request(fakePrompt(20, name), 12);
    wanted.ignoreEos = true;
    wanted.priority = priority;
    wanted.onToken = [&ended, name, left = 12](const TokenEvent &) mutable {
      if (--left == 0)
        ended.push_back(name);
    };
    auto id = session->submit(std::move(wanted));
    ASSERT_TRUE(id);
  };
  ask(1, 5);
  ask(2, 5);
  ask(3, 0);
  for (int i = 0; i < 4; ++i)
    session->step();
  ask(4, -3); // preempts the running one
  session->runUntilDone();
  EXPECT_EQ(ended, (std::vector<int>{4, 3, 1, 2}));
  EXPECT_EQ(session->stats().preemptions, 1u);
}

TEST_F(SessionSharingTest, timesAndCountsAreReported) {
  SessionOptions options;
  options.maxSeqs = 1;
  auto session = open(options);
  auto first = session->submit(request(fakePrompt(60, 1), 8));
  auto second = session->submit(request(fakePrompt(60, 3), 8));
  ASSERT_TRUE(first && second);
  ScheduleStats stats = session->stats();
  EXPECT_EQ(stats.waiting, 2);
  EXPECT_EQ(stats.waitingTokens, 120);
  session->step();
  stats = session->stats();
  EXPECT_EQ(stats.running, 1);
  EXPECT_EQ(stats.waiting, 1);
  EXPECT_EQ(stats.steps, 1u);
  EXPECT_EQ(stats.promptTokens, 60u);
  EXPECT_EQ(stats.pagesUsed, 2);
  session->runUntilDone();
  Completion a = session->take(*first), b = session->take(*second);
  EXPECT_GE(b.timings.queueMs, a.timings.queueMs);
  EXPECT_GT(b.timings.queueMs, 0);
  EXPECT_LE(b.timings.queueMs, b.timings.ttftMs);
}

TEST_F(SessionSharingTest, stepsOfForksAllocateNothing) {
  SessionOptions options;
  options.maxSeqs = 4;
  options.threads = 2;
  auto session = open(options);
  Request wanted = request(fakePrompt(100, 9), 150);
  wanted.sampling.temperature = 0.9f;
  wanted.ignoreEos = true;
  auto ids = session->submit(std::move(wanted), 4);
  ASSERT_TRUE(ids);
  for (int i = 0; i < 10; ++i)
    session->step();
  int64_t before = allocationCount();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(session->step());
  EXPECT_EQ(allocationCount(), before);
}
