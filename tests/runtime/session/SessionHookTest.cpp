//===- SessionHookTest.cpp - Requests that change their own logits ---------===//
#include "tests/runtime/session/FakeSession.h"

#include <limits>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

class SessionHookTest : public FakeSessionTest {
protected:
  static Request endless(int seed, int64_t maxTokens) {
    Request wanted = request(fakePrompt(20, seed), maxTokens);
    wanted.ignoreEos = true;
    return wanted;
  }
};

} // namespace

TEST_F(SessionHookTest, seesTheRowBeforeEachDraw) {
  auto session = open();
  Request wanted = endless(1, 9);
  const std::vector<int32_t> prompt = wanted.promptIds;
  wanted.sampling.choice = 3;
  std::vector<std::vector<int32_t>> seen;
  wanted.onLogits = [&](const LogitsRow &row) {
    EXPECT_EQ(row.choice, 3u);
    std::vector<int32_t> all = prompt;
    all.insert(all.end(), row.ids.begin(), row.ids.end());
    const std::vector<float> expected = fakeLogits(all);
    ASSERT_EQ(row.logits.size(), expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), row.logits.begin()));
    seen.emplace_back(row.ids.begin(), row.ids.end());
  };
  const Completion completion = answer(*session, std::move(wanted));
  EXPECT_EQ(completion.ids, fakeGreedy(prompt, 9, false)); // reading logits changes nothing
  ASSERT_EQ(seen.size(), 9u);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], std::vector<int32_t>(completion.ids.begin(),
                                            completion.ids.begin() + std::ptrdiff_t(i)));
}

TEST_F(SessionHookTest, whatItLeavesIsDrawnFrom) {
  auto session = open();
  for (float temperature : {0.0f, 0.9f}) {
    Request wanted = endless(2, 12);
    wanted.sampling.temperature = temperature;
    wanted.sampling.topLogprobs = 1;
    wanted.onLogits = [](const LogitsRow &row) {
      const size_t only = 10 + row.ids.size();
      for (size_t id = 0; id < row.logits.size(); ++id)
        if (id != only)
          row.logits[id] = kNever;
    };
    const Completion completion = answer(*session, std::move(wanted));
    ASSERT_EQ(completion.ids.size(), 12u);
    for (int32_t i = 0; i < 12; ++i) {
      EXPECT_EQ(completion.ids[size_t(i)], 10 + i);
      EXPECT_EQ(completion.logprobs[size_t(i)].front().logprob, 0.0f); // probability 1
    }
  }
}

TEST_F(SessionHookTest, changesNoOtherRequest) {
  SessionOptions options;
  options.maxSeqs = 4;
  auto session = open(options);
  std::vector<RequestId> ids;
  for (int i = 0; i < 4; ++i) {
    Request wanted = endless(i, 15);
    if (i % 2)
      wanted.onLogits = [](const LogitsRow &row) {
        for (float &logit : row.logits)
          logit = -logit;
      };
    ids.push_back(*session->submit(std::move(wanted)));
  }
  session->runUntilDone();
  for (int i = 0; i < 4; ++i) {
    const std::vector<int32_t> plain = fakeGreedy(fakePrompt(20, i), 15, false);
    const std::vector<int32_t> given = session->take(ids[size_t(i)]).ids;
    if (i % 2)
      EXPECT_NE(given, plain);
    else
      EXPECT_EQ(given, plain);
  }
}
