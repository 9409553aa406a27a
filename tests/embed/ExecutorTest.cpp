//===- ExecutorTest.cpp - ingot.hpp as its users see it -----------------------===//
//
// The only parts of Ingot that this file uses are ingot.hpp and libingot.so.
//===----------------------------------------------------------------------===//
#include "tests/embed/TestEngine.h"

#include "ingot.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <map>
#include <thread>

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::test;
using namespace std::chrono_literals;

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

class ExecutorTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    path = testing::TempDir() + "embed-" + std::to_string(getpid()) + ".ingot";
    writeTestEngine(path);
  }
  static void TearDownTestSuite() { std::remove(path.c_str()); }

  static Config config(int64_t maxSeqs = 4) {
    Config config;
    config.maxSeqs = maxSeqs;
    config.threads = 1;
    return config;
  }
  static Request request(int seed, int64_t maxTokens) {
    Request request;
    request.promptIds = testPrompt(12, seed);
    request.maxTokens = maxTokens;
    request.ignoreEos = true;
    return request;
  }
  static std::vector<int32_t> expected(int seed, int64_t count) {
    return expectedIds(testPrompt(12, seed), count);
  }
  /// Returns a request that runs until it is cancelled. Its hook is slow.
  static Request endless() {
    Request wanted = request(0, -1);
    wanted.streaming = true;
    wanted.onLogits = [](const LogitsRow &) { std::this_thread::sleep_for(1ms); };
    return wanted;
  }
  /// Waits for and returns all outputs of a request.
  static std::vector<Output> all(Executor &executor, RequestId id) {
    std::vector<Output> outputs;
    while (outputs.empty() || !outputs.back().last)
      for (Output &one : executor.await(id).value())
        outputs.push_back(std::move(one));
    return outputs;
  }

  inline static std::string path;
};

} // namespace

TEST_F(ExecutorTest, whatCannotBeOpenedIsAnError) {
  auto opened = Executor::open(path + ".none");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().status, INGOT_FILE);
  EXPECT_EQ(opened.error().code.substr(0, 3), "E03");
  EXPECT_FALSE(opened.error().what.empty());
  EXPECT_FALSE(opened.error().fix.empty());
  try {
    Executor executor(path + ".none");
    FAIL();
  } catch (const Exception &thrown) {
    EXPECT_EQ(thrown.error().code, opened.error().code);
    EXPECT_EQ(std::string(thrown.what()), opened.error().text());
  }
  Config wrong = config();
  wrong.context = 1 << 20;
  EXPECT_EQ(Executor::open(path, wrong).error().code, "E0501");
}

TEST_F(ExecutorTest, modelSaysWhatIsOpen) {
  Config given = config(3);
  given.context = 100;
  Executor executor(path, given);
  const Model model = executor.model();
  EXPECT_EQ(model.name, "fake");
  EXPECT_EQ(model.vocab, kTestVocab);
  EXPECT_EQ(model.context, 100);
  EXPECT_EQ(model.maxSeqs, 3);
  EXPECT_EQ(model.maxBatchTokens, 512);
  EXPECT_EQ(model.threads, 1);
  EXPECT_EQ(model.target.substr(0, 4), "cpu:");
  EXPECT_EQ(model.fingerprint.substr(0, 3), "fp_");
  EXPECT_EQ(model.eos, std::vector<int32_t>{kTestEos});
  EXPECT_EQ(model.bos, -1);
  EXPECT_TRUE(model.hasTokenizer && model.hasChatTemplate);
  EXPECT_GT(model.kvBytes, 0u);
  EXPECT_GT(model.allocatedBytes, model.kvBytes);
}

TEST_F(ExecutorTest, oneOutputPerChoiceWithoutStreaming) {
  Executor executor(path, config());
  Request wanted = request(1, 20);
  wanted.choices = 3;
  auto answers = executor.generate(wanted).value();
  ASSERT_EQ(answers.size(), 3u);
  for (const Output &answer : answers) {
    EXPECT_EQ(answer.ids, expected(1, 20)); // greedy: all choices agree
    EXPECT_EQ(answer.text, executor.decode(answer.ids).value());
    EXPECT_EQ(answer.finish, Finish::Length);
    EXPECT_EQ(answer.promptTokens, 12);
    EXPECT_EQ(answer.newTokens, 20);
    EXPECT_GT(answer.ttftMs, 0);
    EXPECT_GE(answer.elapsedMs, answer.ttftMs);
  }
  wanted.sampling.temperature = 2;
  answers = executor.generate(wanted).value();
  EXPECT_NE(answers[0].ids, answers[1].ids);
  EXPECT_EQ(executor.generate(wanted).value()[1].ids, answers[1].ids); // same seed
}

TEST_F(ExecutorTest, beamsAndHooksOnThem) {
  Executor executor(path, config());
  Request wanted = request(1, 12);
  wanted.beams = Beams{1};
  EXPECT_EQ(executor.generate(wanted).value()[0].ids, expected(1, 12)); // greedy
  wanted.beams = Beams{4, 0.5f, StopBeams::NeverEarly};
  wanted.choices = 3;
  wanted.logprobs = 0;
  wanted.streaming = true; // beams still arrive only at the end
  const auto outputs = all(executor, executor.enqueue(wanted).value());
  std::map<int32_t, double> sums;
  std::map<int32_t, std::vector<int32_t>> ids;
  for (const Output &one : outputs) {
    ids[one.choice].insert(ids[one.choice].end(), one.ids.begin(), one.ids.end());
    for (const auto &row : one.logprobs)
      sums[one.choice] += double(row[0].logprob);
  }
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_GE(sums[0], sums[1]);
  EXPECT_GE(sums[1], sums[2]);
  std::atomic<int> places = 0;
  wanted.onLogits = [&](const LogitsRow &row) {
    places |= 1 << row.choice;
    row.logits[ids[0][3]] = kNever;
  };
  for (const Output &one : executor.generate(wanted).value())
    EXPECT_EQ(std::ranges::count(one.ids, ids[0][3]), 0);
  EXPECT_EQ(places, 15);
  for (Beams bad : {Beams{0}, Beams{9}, Beams{4, 9.0f}}) {
    wanted.beams = bad;
    EXPECT_EQ(executor.enqueue(wanted).error().code, "E0530");
  }
  wanted.beams = Beams{2};
  EXPECT_EQ(executor.enqueue(wanted).error().code, "E0535"); // three choices are requested
  wanted.beams = Beams{0};
  EXPECT_NE(executor.enqueue(wanted).error().why.find("width"), std::string::npos);
  wanted.beams = Beams{5};
  EXPECT_EQ(executor.enqueue(wanted).error().code, "E0533"); // more than the four sequences
  wanted.beams.reset();
  wanted.choices = 1;
  wanted.contrastive = Contrastive{0};
  EXPECT_EQ(executor.enqueue(wanted).error().code, "E0531");
  EXPECT_EQ(executor.stats().kvPagesUsed, 0);
}

TEST_F(ExecutorTest, contrastiveAnswers) {
  Executor executor(path, config());
  Request wanted = request(3, 20);
  wanted.contrastive = Contrastive{0.9f, 4};
  wanted.streaming = true;
  std::vector<int32_t> ids;
  for (const Output &one : all(executor, executor.enqueue(wanted).value()))
    ids.insert(ids.end(), one.ids.begin(), one.ids.end());
  EXPECT_EQ(ids.size(), 20u);
  EXPECT_NE(ids, expected(3, 20));
  wanted.contrastive->alpha = 1e-9f; // only the likelihood decides
  EXPECT_EQ(executor.generate(wanted).value()[0].ids, expected(3, 20));
}

TEST_F(ExecutorTest, streamedOutputsJoin) {
  Executor executor(path, config());
  Request wanted = request(2, 50);
  wanted.streaming = true;
  wanted.logprobs = 2;
  const auto outputs = all(executor, executor.enqueue(wanted).value());
  std::vector<int32_t> ids;
  std::string text;
  for (const Output &one : outputs) {
    EXPECT_EQ(one.finish == Finish::None, !one.last);
    ids.insert(ids.end(), one.ids.begin(), one.ids.end());
    text += one.text;
    ASSERT_EQ(one.logprobs.size(), one.ids.size());
    for (size_t i = 0; i < one.ids.size(); ++i) {
      ASSERT_EQ(one.logprobs[i].size(), 3u);
      EXPECT_EQ(one.logprobs[i][0].id, one.ids[i]);
      EXPECT_LE(one.logprobs[i][0].logprob, 0.0f);
    }
  }
  EXPECT_EQ(ids, expected(2, 50));
  EXPECT_EQ(text, executor.decode(ids).value());
  EXPECT_EQ(outputs.back().newTokens, 50);
}

TEST_F(ExecutorTest, manyThreadsGetTheirOwn) {
  Executor executor(path, config(8));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i) {
        Request wanted = request(10 * t + i, 5 + 7 * i);
        if (executor.generate(wanted).value().front().ids != expected(10 * t + i, 5 + 7 * i))
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  const Stats stats = executor.stats();
  EXPECT_EQ(stats.finishedLength, 48u);
  EXPECT_EQ(stats.promptTokens, 48u * 12);
  EXPECT_EQ(stats.newTokens, 8u * (5 + 12 + 19 + 26 + 33 + 40));
  EXPECT_GT(stats.steps, 0u);
  EXPECT_GT(stats.ttftP99Ms, 0);
  EXPECT_NE(executor.metrics().value().find("vllm:request_success_total"), std::string::npos);
}

TEST_F(ExecutorTest, awaitAnyGivesAll) {
  Executor executor(path, config());
  EXPECT_TRUE(executor.awaitAny(0ms).value().empty());
  std::map<RequestId, int> seeds;
  for (int i = 0; i < 10; ++i)
    seeds[executor.enqueue(request(i, 10)).value()] = i;
  EXPECT_EQ(seeds.size(), 10u);
  EXPECT_FALSE(seeds.contains(0));
  while (!seeds.empty())
    for (const Output &one : executor.awaitAny().value()) {
      ASSERT_TRUE(seeds.contains(one.request));
      EXPECT_EQ(one.ids, expected(seeds[one.request], 10));
      seeds.erase(one.request);
    }
  EXPECT_EQ(executor.ready(), 0u);
}

TEST_F(ExecutorTest, whatIsNotThereCannotBeAwaited) {
  Executor executor(path, config());
  EXPECT_EQ(executor.await(7).error().code, "E0571");
  const RequestId id = executor.enqueue(request(0, 3)).value();
  EXPECT_TRUE(all(executor, id).back().last);
  EXPECT_EQ(executor.await(id).error().code, "E0571");
  EXPECT_EQ(executor.ready(id), 0u);
  executor.cancel(id); // no effect: it has ended
  Request called = request(0, 3);
  std::atomic<bool> ended = false;
  called.onLogits = [&](const LogitsRow &) { std::this_thread::sleep_for(5ms); };
  called.onOutput = [&](const Output &one) { ended = one.last; };
  EXPECT_EQ(executor.await(executor.enqueue(called).value()).error().code, "E0573");
  while (!ended)
    std::this_thread::sleep_for(1ms);
}

TEST_F(ExecutorTest, callbacksComeInOrderAndOnce) {
  std::vector<int32_t> ids;
  int ends = 0;
  {
    Executor executor(path, config());
    Request wanted = request(3, 30);
    wanted.streaming = true;
    wanted.onOutput = [&](const Output &one) {
      EXPECT_EQ(ends, 0);
      ids.insert(ids.end(), one.ids.begin(), one.ids.end());
      ends += one.last;
    };
    executor.enqueue(wanted).value();
    executor.shutdown().value();
  }
  EXPECT_EQ(ids, expected(3, 30));
  EXPECT_EQ(ends, 1);
}

TEST_F(ExecutorTest, closingEndsWhatIsUnderWay) {
  std::atomic<int> cancelled = 0;
  {
    Executor executor(path, config(2));
    for (int i = 0; i < 5; ++i) {
      Request wanted = endless();
      wanted.onOutput = [&](const Output &one) { cancelled += one.finish == Finish::Cancelled; };
      executor.enqueue(wanted).value();
    }
    executor.enqueue(endless()).value(); // its outputs are never fetched
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(cancelled, 5);
}

TEST_F(ExecutorTest, cancelEndsWithinAStep) {
  Executor executor(path, config());
  const RequestId id = executor.enqueue(endless()).value();
  EXPECT_FALSE(executor.await(id).value().empty());
  executor.cancel(id);
  const auto outputs = all(executor, id);
  EXPECT_EQ(outputs.back().finish, Finish::Cancelled);
  EXPECT_LT(outputs.back().newTokens, 1000);
  EXPECT_EQ(executor.stats().cancelled, 1u);
  EXPECT_EQ(executor.stats().kvPagesUsed, 0);
}

TEST_F(ExecutorTest, awaitHasAnEnd) {
  Executor executor(path, config());
  Request wanted = endless();
  wanted.streaming = false;
  const RequestId id = executor.enqueue(wanted).value();
  EXPECT_TRUE(executor.await(id, 5ms).value().empty());
  EXPECT_TRUE(executor.awaitAny(5ms).value().empty());
}

TEST_F(ExecutorTest, aFullQueueRefuses) {
  Config small = config(1);
  small.queueRequests = 1;
  Executor executor(path, small);
  executor.enqueue(endless()).value();
  executor.enqueue(endless()).value();
  auto refused = executor.enqueue(endless());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0560");
  EXPECT_EQ(refused.error().status, INGOT_DEVICE);
  EXPECT_EQ(executor.stats().refused, 1u);
}

TEST_F(ExecutorTest, priorityGoesFirst) {
  Executor executor(path, config(1));
  const RequestId first = executor.enqueue(endless()).value();
  EXPECT_FALSE(executor.await(first).value().empty()); // it is running
  Request later = request(1, 5), sooner = request(2, 5);
  later.priority = 2;
  sooner.priority = 1;
  std::vector<RequestId> order{first, 0, 0}, ended;
  order[2] = executor.enqueue(later).value();
  order[1] = executor.enqueue(sooner).value();
  executor.cancel(first);
  while (ended.size() < 3)
    for (const Output &one : executor.awaitAny().value())
      if (one.last)
        ended.push_back(one.request);
  EXPECT_EQ(ended, order);
}

TEST_F(ExecutorTest, prefixesAreSharedWhereTheyMay) {
  Executor executor(path, config());
  Request wanted = request(0, 10);
  wanted.promptIds = testPrompt(200, 9);
  const auto ids = expectedIds(wanted.promptIds, 10);
  auto cached = [&](auto change) {
    Request other = wanted;
    change(other);
    const Output answer = executor.generate(other).value().front();
    EXPECT_EQ(answer.ids, ids);
    return answer.cachedTokens;
  };
  EXPECT_EQ(cached([](Request &) {}), 0);
  EXPECT_GE(cached([](Request &) {}), 128);
  EXPECT_EQ(cached([](Request &r) { r.prefixCache = false; }), 0);
  EXPECT_EQ(cached([](Request &r) { r.cacheSalt = 1; }), 0);
  EXPECT_GE(cached([](Request &r) { r.cacheSalt = 1; }), 128);
  Config without = config();
  without.prefixCache = false;
  Executor other(path, without);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(other.generate(wanted).value().front().cachedTokens, 0);
}

TEST_F(ExecutorTest, shutdownWaitsThenCancels) {
  Executor executor(path, config());
  const RequestId finite = executor.enqueue(request(4, 5)).value();
  executor.shutdown().value();
  EXPECT_EQ(executor.enqueue(request(4, 5)).error().code, "E0561");
  EXPECT_EQ(all(executor, finite).back().ids, expected(4, 5)); // can still be fetched
  EXPECT_EQ(executor.awaitAny().error().code, "E0561");

  Executor other(path, config());
  const RequestId forever = other.enqueue(endless()).value();
  other.shutdown(5ms).value();
  EXPECT_EQ(all(other, forever).back().finish, Finish::Cancelled);
}

TEST_F(ExecutorTest, aCallbackCannotShutDown) {
  Executor executor(path, config());
  std::string fromOutput, fromHook;
  Request wanted = request(0, 2);
  wanted.streaming = true;
  wanted.onOutput = [&](const Output &) {
    if (auto done = executor.shutdown(); !done)
      fromOutput = done.error().code;
  };
  wanted.onLogits = [&](const LogitsRow &) { fromHook = executor.shutdown().error().code; };
  executor.enqueue(wanted).value();
  executor.shutdown().value();
  EXPECT_EQ(fromOutput, "E0574");
  EXPECT_EQ(fromHook, "E0574");
}

TEST_F(ExecutorTest, hooksSeeAndChangeTheirRows) {
  Executor executor(path, config());
  Request wanted = request(5, 6);
  wanted.choices = 2;
  std::atomic<int> calls = 0;
  std::atomic<RequestId> seen = 0;
  wanted.onLogits = [&](const LogitsRow &row) {
    ++calls;
    seen = row.request;
    EXPECT_EQ(row.logits.size(), size_t(kTestVocab));
    if (row.ids.empty()) {
      EXPECT_EQ(std::vector<float>(row.logits.begin(), row.logits.end()),
                expectedLogits(testPrompt(12, 5)));
    }
    const size_t only = row.choice == 0 ? 40 : 50 + row.ids.size();
    for (size_t id = 0; id < row.logits.size(); ++id)
      if (id != only)
        row.logits[id] = kNever;
  };
  const auto other = executor.enqueue(request(6, 6)).value();
  const auto answers = executor.generate(wanted).value();
  EXPECT_EQ(answers[0].ids, std::vector<int32_t>(6, 40));
  EXPECT_EQ(answers[1].ids, (std::vector<int32_t>{50, 51, 52, 53, 54, 55}));
  EXPECT_EQ(calls, 12);
  EXPECT_EQ(seen, answers[0].request);
  EXPECT_EQ(all(executor, other).back().ids, expected(6, 6));
}

/// A hook that does not return fails its request, and no further hook is called for that request.
TEST_F(ExecutorTest, aStepLimitEndsHooks) {
  struct Shared { // must outlive the request, since a hook may still run
    std::atomic<int> calls = 0;
    std::atomic<bool> held = true;
  };
  auto shared = std::make_shared<Shared>();
  Config limited = config();
  limited.stepLimit = 0.2;
  Executor executor(path, limited);
  Request wanted = request(5, 6);
  wanted.choices = 2; // the first row calls it twice
  wanted.onLogits = [shared](const LogitsRow &) {
    ++shared->calls;
    shared->held.wait(true);
  };
  const auto outputs = all(executor, executor.enqueue(wanted).value());
  for (const Output &one : outputs) {
    ASSERT_TRUE(one.error);
    EXPECT_EQ(one.error->code, "E0725");
  }
  EXPECT_EQ(executor.enqueue(request(5, 6)).error().code, "E0725");
  wanted = Request{};
  shared->held = false;
  shared->held.notify_all();
  while (shared.use_count() > 1) // the last hook to return frees the request
    std::this_thread::sleep_for(1ms);
  executor.shutdown().value();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(shared->calls, 1);
  for (double bad : {-1.0, 1e10, std::numeric_limits<double>::quiet_NaN()}) {
    limited.stepLimit = bad;
    EXPECT_EQ(Executor::open(path, limited).error().code, "E0501");
  }
}

TEST_F(ExecutorTest, rulesKeepIdsOut) {
  Executor executor(path, config());
  const auto plain = expected(7, 30);
  Request wanted = request(7, 30);
  wanted.badWords = {{plain[0]}, {plain[1], plain[2]}};
  const auto ids = executor.generate(wanted).value().front().ids;
  EXPECT_EQ(std::ranges::count(ids, plain[0]), 0);
  for (size_t i = 1; i < ids.size(); ++i)
    EXPECT_FALSE(ids[i - 1] == plain[1] && ids[i] == plain[2]) << i;

  // An answer that would stop early stops no earlier than minTokens allows.
  int seed = 0;
  while (expectedIds(testPrompt(12, seed), 20, true).size() >= 10)
    ++seed;
  Request stopping = request(seed, 40);
  stopping.ignoreEos = false;
  EXPECT_EQ(executor.generate(stopping).value().front().finish, Finish::Stop);
  stopping.minTokens = 15;
  EXPECT_GE(executor.generate(stopping).value().front().ids.size(), 15u);

  Request once = request(8, 60);
  once.sampling.noRepeatNgram = 1;
  auto unique = executor.generate(once).value().front().ids;
  std::ranges::sort(unique);
  EXPECT_EQ(std::ranges::adjacent_find(unique), unique.end());
}

TEST_F(ExecutorTest, textGoesBothWays) {
  Executor executor(path, config());
  EXPECT_EQ(executor.encode("ab <eos>").value(), (std::vector<int32_t>{64, 65, 94, 96}));
  EXPECT_EQ(executor.decode(std::vector<int32_t>{64, 65, 94, 96}).value(), "ab ");
  EXPECT_EQ(executor.decode(std::vector<int32_t>{64, 96}, true).value(), "a<eos>");
  EXPECT_EQ(executor.tokenBytes(64).value(), "a");
  EXPECT_EQ(executor.tokenBytes(97).error().code, "E0504");
  EXPECT_EQ(executor.tokenId("<eos>"), 96);
  EXPECT_EQ(executor.tokenId("nonsense"), std::nullopt);
  const std::string messages = R"([{"role":"user","content":"hi"}])";
  EXPECT_EQ(executor.renderChat(messages).value(), "[user]hi[assistant]");
  EXPECT_EQ(executor.renderChat(messages, R"({"name":"x"})", false).value(), "[user]hi(x)");
  EXPECT_EQ(executor.renderChat("nonsense").error().code, "E0614");

  Request chat;
  chat.messages = messages;
  chat.maxTokens = 8;
  chat.ignoreEos = true;
  const auto ids = executor.encode("[user]hi[assistant]").value();
  EXPECT_EQ(executor.generate(chat).value().front().ids, expectedIds(ids, 8));
  Request prompt;
  prompt.prompt = "[user]hi[assistant]";
  prompt.maxTokens = 8;
  prompt.ignoreEos = true;
  const std::string text = executor.generate(prompt).value().front().text;
  EXPECT_EQ(text, executor.generate(chat).value().front().text);
  prompt.stopStrings = {text.substr(3, 2)};
  const Output stopped = executor.generate(prompt).value().front();
  EXPECT_EQ(stopped.text, text.substr(0, text.find(text.substr(3, 2))));
  EXPECT_EQ(stopped.stopString, text.substr(3, 2));
  EXPECT_EQ(stopped.finish, Finish::Stop);
}

TEST_F(ExecutorTest, controlTokensInContentsAreText) {
  Executor executor(path, config());
  Request chat;
  chat.messages = R"([{"role":"user","content":"a<eos>"}])";
  chat.maxTokens = 4;
  chat.ignoreEos = true;
  const std::string rendered = executor.renderChat(chat.messages).value();
  ASSERT_EQ(rendered, "[user]a<eos>[assistant]");
  const Output plain = executor.generate(chat).value().front();
  EXPECT_EQ(plain.promptTokens, int64_t(rendered.size())); // one id per character
  chat.trustContent = true;
  const Output trusted = executor.generate(chat).value().front();
  EXPECT_EQ(trusted.promptTokens, int64_t(rendered.size() - std::string("<eos>").size() + 1));
  EXPECT_EQ(trusted.ids, expectedIds(executor.encode(rendered).value(), 4));
  chat.trustContent = false;
  chat.messages = R"([{"role":"user","content":"b"}])"; // ids are unaffected
  EXPECT_EQ(executor.generate(chat).value().front().ids,
            expectedIds(executor.encode("[user]b[assistant]").value(), 4));
}

TEST_F(ExecutorTest, idsNeedNoTokenizer) {
  Config bare = config();
  bare.loadTokenizer = false;
  Executor executor(path, bare);
  EXPECT_FALSE(executor.model().hasTokenizer);
  EXPECT_EQ(executor.generate(request(1, 5)).value().front().ids, expected(1, 5));
  EXPECT_EQ(executor.encode("a").error().code, "E0520");
  EXPECT_EQ(executor.renderChat("[]").error().code, "E0520");
}

TEST_F(ExecutorTest, aTemplateOfOnesOwn) {
  Config own = config();
  own.chatTemplate = "{{ messages[0].content }}!";
  EXPECT_EQ(Executor(path, own).renderChat(R"([{"role":"user","content":"hi"}])").value(), "hi!");
  own.chatTemplate = "{% if %}";
  EXPECT_EQ(Executor::open(path, own).error().code, "E0610");
}

TEST_F(ExecutorTest, requestsThatCannotBe) {
  Executor executor(path, config());
  auto code = [&](auto change) {
    Request wanted = request(0, 5);
    change(wanted);
    auto id = executor.enqueue(wanted);
    return id ? std::string("taken") : id.error().code;
  };
  EXPECT_EQ(code([](Request &r) { r.promptIds.clear(); }), "E0503");
  EXPECT_EQ(code([](Request &r) { r.promptIds = {97}; }), "E0504");
  EXPECT_EQ(code([](Request &r) { r.maxTokens = 1 << 20; }), "E0505");
  EXPECT_EQ(code([](Request &r) { r.sampling.topP = 2.0f; }), "E0510");
  EXPECT_EQ(code([](Request &r) { r.prompt = "a"; }), "E0572");
  EXPECT_EQ(code([](Request &r) { r.badWords = {{}}; }), "E0575");
  EXPECT_EQ(code([](Request &r) { r.grammarKind = Grammar(42); }), "E0576");
  EXPECT_EQ(code([](Request &r) { r.choices = 0; }), "E0577");
  EXPECT_EQ(code([](Request &r) { r.choices = 129; }), "E0577");
  EXPECT_EQ(executor.stats().running, 0);
}
