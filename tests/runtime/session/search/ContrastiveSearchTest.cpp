//===- ContrastiveSearchTest.cpp - Contrastive search against plain formulas ===//
#include "tests/runtime/session/FakeSession.h"
#include "tests/runtime/session/search/Reference.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class ContrastiveSearchTest : public FakeSessionTest {
protected:
  FakeOptions options() override {
    FakeOptions fake;
    fake.states = true;
    return fake;
  }
  std::unique_ptr<Session> openWide(int64_t rows = 8, int threads = 1) {
    SessionOptions options;
    options.maxSeqs = rows;
    options.context = 256;
    options.threads = threads;
    return open(options);
  }
  static Request contrastive(std::vector<int32_t> prompt, int64_t maxTokens,
                             ContrastiveParams params) {
    Request wanted = request(std::move(prompt), maxTokens);
    wanted.contrastive = params;
    wanted.sampling.topLogprobs = 2;
    return wanted;
  }
  static void expectNothingLeft(const Session &session) {
    EXPECT_EQ(session.stats().pagesUsed, 0);
    EXPECT_EQ(session.stats().running + session.stats().waiting, 0);
    EXPECT_EQ(session.stateBytesUsed(), 0u);
  }
};

} // namespace

TEST_F(ContrastiveSearchTest, answersAsTheReference) {
  auto session = openWide();
  auto greedy = 0;
  for (int seed = 0; seed < 8; ++seed)
    for (double alpha : {0.1, 0.6, 1.0})
      for (int32_t topK : {2, 5, 8}) {
        const std::vector<int32_t> prompt = fakePrompt(1 + seed * 13, seed);
        const int64_t most = 1 + seed * 3;
        Completion found = answer(*session, contrastive(prompt, most, {alpha, topK}));
        const auto expected = contrastiveAlone(prompt, most, {alpha, topK}, {kFakeEos});
        EXPECT_EQ(found.ids, expected) << seed << " " << alpha << " " << topK;
        EXPECT_EQ(found.finishReason,
                  int64_t(expected.size()) < most ? FinishReason::Stop : FinishReason::Length);
        ASSERT_EQ(found.logprobs.size(), found.ids.size());
        std::vector<int32_t> ids = prompt;
        for (size_t i = 0; i < found.ids.size(); ++i) {
          ASSERT_EQ(found.logprobs[i].size(), 3u);
          EXPECT_EQ(found.logprobs[i][0].id, found.ids[i]);
          EXPECT_NEAR(double(found.logprobs[i][0].logprob), fakeLogprobs(ids)[size_t(found.ids[i])],
                      1e-5);
          ids.push_back(found.ids[i]);
        }
        greedy += found.ids == fakeGreedy(prompt, most, true);
        expectNothingLeft(*session);
      }
  EXPECT_LT(greedy, 24) << "the penalty has no effect";
}

TEST_F(ContrastiveSearchTest, comesTokenByToken) {
  auto session = openWide();
  std::vector<int32_t> heard;
  Request wanted = contrastive(fakePrompt(20, 3), 10, {0.5, 4});
  wanted.ignoreEos = true;
  wanted.onToken = [&](const TokenEvent &event) { heard.push_back(event.id); };
  auto id = session->submit(wanted);
  ASSERT_TRUE(id) << id.error().format();
  for (int64_t rows = 0; rows < 20; rows += 8) { // each token of the prompt has a row
    ASSERT_TRUE(session->step());
    EXPECT_EQ(heard.size(), 0u);
  }
  for (size_t i = 1; i <= 10; ++i) { // one step of four sequences per token
    ASSERT_TRUE(session->step());
    EXPECT_EQ(heard.size(), i);
  }
  EXPECT_EQ(session->take(*id).ids, heard);
  EXPECT_EQ(session->stats().promptTokens + session->stats().decodeTokens, 20u + 4 * 10);
}

/// A cached prefix has no hidden states.
TEST_F(ContrastiveSearchTest, leavesThePrefixCacheAlone) {
  auto session = openWide();
  const std::vector<int32_t> prompt = fakePrompt(100, 1);
  answer(*session, request(prompt, 4));
  const auto expected = contrastiveAlone(prompt, 8, {0.6, 4}, {kFakeEos});
  for (int i = 0; i < 2; ++i) {
    Completion found = answer(*session, contrastive(prompt, 8, {0.6, 4}));
    EXPECT_EQ(found.cachedTokens, 0);
    EXPECT_EQ(found.ids, expected);
  }
}

TEST_F(ContrastiveSearchTest, answersTheSameInABatchAndPreempted) {
  auto wantedOf = [](int i) {
    Request wanted = contrastive(fakePrompt(15 + i * 12, i), 70, {0.6, 2 + i % 3});
    wanted.ignoreEos = true;
    return wanted;
  };
  std::vector<std::vector<int32_t>> expected;
  for (int i = 0; i < 5; ++i)
    expected.push_back(contrastiveAlone(fakePrompt(15 + i * 12, i), 70, {0.6, 2 + i % 3}, {}));
  for (uint64_t swapPages : {0, 3, 100})
    for (int threads : {1, 2}) {
      SessionOptions options;
      options.maxSeqs = 8;
      options.context = 256;
      options.threads = threads;
      options.kvMemoryBytes = 16 * kFakePage;
      options.swapBytes = swapPages * kFakePage;
      auto session = open(options);
      std::vector<RequestId> ids;
      for (int i = 0; i < 5; ++i) {
        auto id = session->submit(wantedOf(i));
        ASSERT_TRUE(id) << id.error().format();
        ids.push_back(*id);
        Request plain = request(fakePrompt(30, 50 + i), 150);
        plain.ignoreEos = true;
        ASSERT_TRUE(session->submit(plain));
        if (i == 2) {
          Request beams = request(fakePrompt(30, 60), 30);
          beams.beams = BeamParams{3};
          ASSERT_TRUE(session->submit(beams, 2));
        }
      }
      session->runUntilDone();
      for (size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(session->take(ids[i]).ids, expected[i]) << i;
      EXPECT_GT(session->stats().preemptions, 3u) << swapPages;
      EXPECT_EQ(session->stats().swapBytesUsed, 0u);
      expectNothingLeft(*session);
    }
}

TEST_F(ContrastiveSearchTest, cancellingFreesEverything) {
  for (int steps : {0, 1, 2, 3, 12}) {
    SessionOptions options;
    options.maxSeqs = 4;
    options.context = 256;
    options.maxBatchTokens = 40; // a prompt of several steps: four rows each
    auto session = open(options);
    std::atomic<bool> cancel = false;
    Request wanted = contrastive(fakePrompt(11, 2), 80, {0.6, 4});
    wanted.ignoreEos = true;
    wanted.cancel = &cancel;
    auto id = session->submit(wanted);
    ASSERT_TRUE(id);
    EXPECT_EQ(session->stateBytesUsed(), (11u + 80 + 4) * 4 * 4);
    for (int i = 0; i < steps; ++i)
      session->step();
    cancel = true;
    session->runUntilDone();
    EXPECT_EQ(session->take(*id).finishReason, FinishReason::Cancelled);
    expectNothingLeft(*session);
  }
}

TEST_F(ContrastiveSearchTest, memoryOfStatesIsBounded) {
  SessionOptions options;
  options.maxSeqs = 8;
  options.context = 256;
  options.stateBytes = 2000; // 125 states of four values
  auto session = open(options);
  auto codeOf = [&](Request wanted) {
    auto id = session->submit(std::move(wanted));
    return id ? std::string() : id.error().code;
  };
  EXPECT_EQ(codeOf(contrastive(fakePrompt(20, 1), 101, {0.6, 4})), ""); // 125
  EXPECT_EQ(codeOf(contrastive(fakePrompt(20, 1), 102, {0.6, 4})), "E0534");
  EXPECT_EQ(codeOf(contrastive(fakePrompt(1, 1), 1, {0.6, 4})),
            "E0560"); // others hold the memory now
  EXPECT_EQ(codeOf(contrastive(fakePrompt(20, 1), 1'000'000'000, {0.6, 4})), "E0505");
  // Each fits by itself, but both together can never fit.
  auto together = [&](int64_t maxTokens) {
    auto first = session->validate(contrastive(fakePrompt(20, 1), maxTokens, {0.6, 4}));
    if (!first)
      return first.error().code;
    std::vector<ValidatedRequest> both;
    both.push_back(std::move(*session->validate(*first, fakePrompt(30, 2))));
    both.push_back(std::move(*first));
    auto fine = session->validateTogether(both);
    return fine ? std::string() : fine.error().code;
  };
  EXPECT_EQ(together(33), ""); // 57 + 67
  EXPECT_EQ(together(34), "E0534");
  EXPECT_EQ(together(300), "E0505");
  session->runUntilDone();
  EXPECT_EQ(codeOf(contrastive(fakePrompt(1, 1), 1, {0.6, 4})), "");
  session->runUntilDone();
  expectNothingLeft(*session);
}

/// Validation ignores the memory that others use now: the same request is queued later.
TEST_F(ContrastiveSearchTest, aValidRequestMayWaitForItsMemory) {
  SessionOptions options;
  options.maxSeqs = 8;
  options.context = 256;
  options.stateBytes = 2000; // 125 states of four values
  auto session = open(options);
  {
    auto first = validated(*session, contrastive(fakePrompt(20, 1), 60, {0.6, 4}));
    auto second = validated(*session, contrastive(fakePrompt(20, 2), 60, {0.6, 4}));
    EXPECT_EQ(session->stateBytesUsed(), 0u);
    ASSERT_TRUE(session->reserveStates(first));
    ASSERT_TRUE(session->reserveStates(first)) << "once is enough";
    EXPECT_EQ(session->stateBytesUsed(), (20u + 60 + 4) * 4 * 4);
    auto refused = session->reserveStates(second);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "E0560");
    auto ids = session->submit(std::move(first));
    ASSERT_TRUE(ids) << ids.error().format();
    EXPECT_EQ(session->stateBytesUsed(), (20u + 60 + 4) * 4 * 4);
    session->runUntilDone();
    EXPECT_EQ(session->take(ids->front()).ids,
              contrastiveAlone(fakePrompt(20, 1), 60, {0.6, 4}, {kFakeEos}));
    ASSERT_TRUE(session->reserveStates(second));
  } // the second is not submitted
  expectNothingLeft(*session);
}

TEST_F(ContrastiveSearchTest, refusesWhatCannotBe) {
  auto session = openWide(4);
  auto codeOf = [&](Request wanted, int32_t choices = 1) {
    auto ids = session->submit(std::move(wanted), choices);
    return ids ? std::string() : ids.error().code;
  };
  for (ContrastiveParams bad : {ContrastiveParams{0, 4}, ContrastiveParams{1.1, 4},
                                ContrastiveParams{0.5, 1}, ContrastiveParams{0.5, 9}})
    EXPECT_EQ(codeOf(contrastive(fakePrompt(5, 1), 5, bad)), "E0531");
  EXPECT_EQ(codeOf(contrastive(fakePrompt(5, 1), 5, {0.5, 5})), "E0533");
  EXPECT_EQ(codeOf(contrastive(fakePrompt(5, 1), 5, {0.5, 4}), 2), "E0535");
  Request promptAlone = contrastive(fakePrompt(5, 1), 5, {0.5, 4});
  promptAlone.promptOnly = true;
  EXPECT_EQ(codeOf(promptAlone), "E0536");
  // The last id is fed as well, which takes one more position than a plain answer.
  EXPECT_EQ(codeOf(contrastive(fakePrompt(200, 1), 56, {0.5, 4})), "");
  EXPECT_EQ(codeOf(contrastive(fakePrompt(200, 1), 57, {0.5, 4})), "E0505");
  EXPECT_EQ(codeOf(contrastive(fakePrompt(200, 1), -1, {0.5, 4})), "");
  session->runUntilDone();
  expectNothingLeft(*session);
  std::string without = writeFakeEngine("without.ingot");
  SessionOptions options;
  options.maxSeqs = 4;
  session = std::move(*Session::open(without, options));
  std::remove(without.c_str());
  EXPECT_EQ(codeOf(contrastive(fakePrompt(5, 1), 5, {0.5, 4})), "E0522");
}
