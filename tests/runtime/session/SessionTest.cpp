//===- SessionTest.cpp - One request: ids, stops, limits, timings ---------===//
#include "runtime/engine/Inspect.h"
#include "tests/runtime/sample/AllocationCount.h"
#include "tests/runtime/session/FakeSession.h"

#include <atomic>
#include <cmath>
#include <fstream>
#include <sstream>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {
class SessionTest : public FakeSessionTest {};
} // namespace

TEST_F(SessionTest, greedyIdsForEveryChunkAndThreadCount) {
  std::vector<int32_t> prompt = fakePrompt(150, 1);
  std::vector<int32_t> expected = fakeGreedy(prompt, 40, false);
  for (int64_t chunk : {1, 7, 64, 512})
    for (int threads : {1, 2}) {
      SessionOptions options;
      options.prefillChunk = chunk;
      options.threads = threads;
      auto session = open(options);
      Request wanted = request(prompt, 40);
      wanted.ignoreEos = true;
      Completion completion = answer(*session, std::move(wanted));
      EXPECT_EQ(completion.ids, expected) << chunk << " " << threads;
      EXPECT_EQ(completion.promptIds, prompt);
      EXPECT_EQ(completion.finishReason, FinishReason::Length);
      EXPECT_EQ(completion.text, ""); // no tokenizer
    }
}

TEST_F(SessionTest, eosEndsTheAnswerAndIsNotPartOfIt) {
  std::vector<int32_t> prompt = promptThatStops(5, 60);
  std::vector<int32_t> expected = fakeGreedy(prompt, 100, true);
  auto session = open();
  Completion completion = answer(*session, request(prompt, 100));
  EXPECT_EQ(completion.ids, expected);
  EXPECT_EQ(completion.finishReason, FinishReason::Stop);
  EXPECT_EQ(finishReasonName(completion.finishReason), "stop");

  Request ignoring = request(prompt, int64_t(expected.size()) + 10);
  ignoring.ignoreEos = true;
  completion = answer(*session, std::move(ignoring));
  EXPECT_EQ(completion.ids, fakeGreedy(prompt, int64_t(expected.size()) + 10, false));
  EXPECT_EQ(completion.finishReason, FinishReason::Length);

  Request stopping = request(prompt, 100);
  stopping.stopIds = {expected[2]};
  completion = answer(*session, std::move(stopping));
  EXPECT_LE(completion.ids.size(), 2u);
  EXPECT_EQ(completion.finishReason, FinishReason::Stop);
}

TEST_F(SessionTest, minusOneFillsTheContext) {
  SessionOptions options;
  options.context = 64;
  auto session = open(options);
  EXPECT_EQ(session->context(), 64);
  Request wanted = request(fakePrompt(30, 2), -1);
  wanted.ignoreEos = true;
  Completion completion = answer(*session, std::move(wanted));
  EXPECT_EQ(completion.ids.size(), 35u); // 30 + 34 positions; the 35th id is never fed
  EXPECT_EQ(completion.finishReason, FinishReason::Length);
  Completion full = answer(*session, request(fakePrompt(64, 2), -1));
  EXPECT_LE(full.ids.size(), 1u);
}

TEST_F(SessionTest, eventsAreTheIdsInOrder) {
  auto session = open();
  std::vector<int32_t> seen;
  Request wanted = request(fakePrompt(10, 3), 12);
  wanted.ignoreEos = true;
  wanted.onToken = [&](const TokenEvent &event) { seen.push_back(event.id); };
  Completion completion = answer(*session, std::move(wanted));
  EXPECT_EQ(seen, completion.ids);
}

TEST_F(SessionTest, logprobsAreOfTheModelsDistribution) {
  auto session = open();
  std::vector<int32_t> prompt = fakePrompt(10, 4);
  Request wanted = request(prompt, 5);
  wanted.ignoreEos = true;
  wanted.sampling.topLogprobs = 3;
  Completion completion = answer(*session, std::move(wanted));
  ASSERT_EQ(completion.logprobs.size(), completion.ids.size());
  std::vector<int32_t> ids = prompt;
  for (size_t i = 0; i < completion.ids.size(); ++i) {
    std::vector<float> logits = fakeLogits(ids);
    double sum = 0;
    for (float logit : logits)
      sum += std::exp(double(logit));
    ASSERT_EQ(completion.logprobs[i].size(), 4u);
    EXPECT_EQ(completion.logprobs[i][0].id, completion.ids[i]);
    for (const TokenLogprob &entry : completion.logprobs[i])
      EXPECT_NEAR(entry.logprob, logits[size_t(entry.id)] - std::log(sum), 1e-5);
    ids.push_back(completion.ids[i]);
  }
}

TEST_F(SessionTest, penaltiesSeePromptAndOutput) {
  auto session = open();
  Request wanted = request({1, 2, 3}, 60);
  wanted.ignoreEos = true;
  wanted.sampling.presencePenalty = 1000; // no id repeats
  Completion completion = answer(*session, std::move(wanted));
  std::vector<int32_t> sorted = completion.ids;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  Request repeated = request({1, 2, 3}, 60);
  repeated.ignoreEos = true;
  repeated.sampling.repetitionPenalty = 1e6f; // applies to the prompt as well
  completion = answer(*session, std::move(repeated));
  for (int32_t id : {1, 2, 3})
    EXPECT_EQ(std::count(completion.ids.begin(), completion.ids.end(), id), 0);
}

TEST_F(SessionTest, cancelEndsWithinOneStep) {
  auto session = open();
  std::atomic<bool> cancel{false};
  int events = 0;
  Request wanted = request(fakePrompt(10, 5), 50);
  wanted.ignoreEos = true;
  wanted.cancel = &cancel;
  wanted.onToken = [&](const TokenEvent &) { cancel = ++events == 3; };
  Completion completion = answer(*session, std::move(wanted));
  EXPECT_EQ(completion.ids.size(), 3u);
  EXPECT_EQ(completion.finishReason, FinishReason::Cancelled);
  EXPECT_EQ(finishReasonName(completion.finishReason), "cancelled");
}

TEST_F(SessionTest, cancelWhileQueuedLeavesOthersAlone) {
  auto session = open(); // one request at a time
  std::atomic<bool> cancel{true};
  Request first = request(fakePrompt(10, 6), 20), second = request(fakePrompt(10, 7), 20);
  first.ignoreEos = second.ignoreEos = true;
  second.cancel = &cancel;
  auto a = session->submit(std::move(first)), b = session->submit(std::move(second));
  ASSERT_TRUE(a && b);
  session->runUntilDone();
  EXPECT_EQ(session->take(*a).ids, fakeGreedy(fakePrompt(10, 6), 20, false));
  Completion none = session->take(*b);
  EXPECT_TRUE(none.ids.empty());
  EXPECT_EQ(none.timings.ttftMs, 0);
}

TEST_F(SessionTest, timingsAreFilled) {
  auto session = open();
  Request wanted = request(fakePrompt(100, 8), 20);
  wanted.ignoreEos = true;
  Completion completion = answer(*session, std::move(wanted));
  EXPECT_GT(completion.timings.loadMs, 0);
  EXPECT_GT(completion.timings.ttftMs, 0);
  EXPECT_GT(completion.timings.promptTps, 0);
  EXPECT_GT(completion.timings.decodeTps, 0);
}

TEST_F(SessionTest, aDecodeStepAllocatesNothing) {
  SessionOptions options;
  options.threads = 2;
  auto session = open(options);
  for (float temperature : {0.0f, 0.9f}) {
    Request wanted = request(fakePrompt(100, 9), 120);
    wanted.ignoreEos = true;
    wanted.sampling.temperature = temperature;
    wanted.sampling.topP = 0.9f;
    wanted.sampling.repetitionPenalty = 1.1f;
    auto id = session->submit(std::move(wanted));
    ASSERT_TRUE(id);
    for (int i = 0; i < 10; ++i)
      session->step();
    int64_t before = allocationCount();
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(session->step());
    EXPECT_EQ(allocationCount(), before);
    session->runUntilDone();
    session->take(*id);
  }
}

TEST_F(SessionTest, traceIsWrittenAndKernelsAreTimed) {
  SessionOptions options;
  options.traceFile = path + ".trace";
  {
    auto session = open(options);
    answer(*session, request(fakePrompt(10, 10), 3));
    EXPECT_EQ(session->kernelTimes().size(), 6u);
    EXPECT_TRUE(session->writeTrace());
  }
  std::ifstream file(options.traceFile);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\"name\":\"attend\""), std::string::npos);
  std::remove(options.traceFile.c_str());

  auto session = open();
  EXPECT_TRUE(session->kernelTimes().empty());
  session->profile(true);
  answer(*session, request(fakePrompt(10, 10), 3));
  EXPECT_EQ(session->kernelTimes().size(), 6u);
  session->profile(false);
  EXPECT_TRUE(session->kernelTimes().empty());
}

TEST_F(SessionTest, limitsAreReported) {
  SessionOptions options;
  options.maxSeqs = 3;
  options.threads = 2;
  auto session = open(options);
  EXPECT_EQ(session->context(), 2048); // the model's limit is below the default
  EXPECT_EQ(session->maxSeqs(), 3);
  EXPECT_EQ(session->threads(), 2);
  EXPECT_EQ(session->vocab(), kFakeVocab);
  EXPECT_EQ(session->target(), "cpu:avx2");
  EXPECT_EQ(session->memory().pages, 3u * 64);
  EXPECT_EQ(session->memory().kv, 3u * 64 * 2 * 4096);
  EXPECT_GT(session->loadMs(), 0);
  EXPECT_TRUE(session->defaultSampling().greedy());
}

TEST_F(SessionTest, defaultSamplingComesFromTheEngine) {
  FakeOptions sampling;
  sampling.change = [](fb::EngineT &engine) {
    engine.generation = std::make_unique<fb::GenerationDefaultsT>();
    engine.generation->do_sample = true;
    engine.generation->temperature = 0.5f;
    engine.generation->top_k = 40;
    engine.generation->top_p = 0.75f;
  };
  std::string sampled = writeFakeEngine("sampled.ingot", sampling);
  auto session = Session::open(sampled);
  ASSERT_TRUE(session);
  SamplingParams params = (*session)->defaultSampling();
  EXPECT_EQ(params.temperature, 0.5f);
  EXPECT_EQ(params.topK, 40);
  EXPECT_EQ(params.topP, 0.75f);
  EXPECT_EQ(params.repetitionPenalty, 1.0f);
  std::remove(sampled.c_str());
}
