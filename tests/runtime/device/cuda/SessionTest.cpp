//===- SessionTest.cpp - A session on the fake GPU ------------------------------===//
//
// The fake library has the soname of the real driver. Once it is loaded, every dlopen of
// libcuda.so.1 returns it.
//===----------------------------------------------------------------------===//
#include "runtime/session/Session.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "tests/runtime/device/cuda/FakeGpuProgram.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class CudaSession : public testing::Test {
protected:
  static std::unique_ptr<Session> open(const std::string &path, const std::string &device) {
    SessionOptions options;
    options.device = device;
    options.maxSeqs = 4;
    options.context = 200;
    options.loadTokenizer = false;
    auto session = Session::open(path, options);
    EXPECT_TRUE(session) << session.error().format();
    return session ? std::move(*session) : nullptr;
  }
  static RequestId submit(Session &session, int seed) {
    Request request;
    request.promptIds = fakePrompt(5 + seed, seed);
    request.maxTokens = 10;
    request.ignoreEos = true;
    auto id = session.submit(std::move(request));
    EXPECT_TRUE(id) << id.error().format();
    return id ? *id : -1;
  }
  FakeCuda &fake = freshFakeCuda();
};

TEST_F(CudaSession, AnswersOnBothDevices) {
  std::string path = writeFakeEngine("both.ingot", withGpuProgram({"cuda:sm_90a"}));
  for (const char *device : {"", "cpu", "cuda"}) {
    auto session = open(path, device);
    ASSERT_TRUE(session);
    EXPECT_EQ(session->target(), std::string_view(device) == "cuda" ? "cuda:sm_90a" : "cpu:avx2");
    std::vector<RequestId> ids;
    for (int seed = 0; seed < 6; ++seed)
      ids.push_back(submit(*session, seed));
    session->runUntilDone();
    for (int seed = 0; seed < 6; ++seed)
      EXPECT_EQ(session->take(ids[size_t(seed)]).ids,
                fakeGreedy(fakePrompt(5 + seed, seed), 10, false));
    EXPECT_EQ(session->failure(), nullptr);
  }
}

/// If no request needs logits, only ids are copied back, both in graphs and in steps with prompts.
TEST_F(CudaSession, GreedyIdsComeFromTheDevice) {
  for (bool alone : {false, true}) {
    auto session = open(
        writeFakeEngine("greedy.ingot", withGpuProgram({"cuda:sm_90a"}, alone, /*greedy=*/true)),
        "cuda");
    ASSERT_TRUE(session);
    fake.bytesToHost = 0;
    std::vector<RequestId> ids;
    for (int seed = 0; seed < 6; ++seed)
      ids.push_back(submit(*session, seed));
    session->runUntilDone();
    for (int seed = 0; seed < 6; ++seed)
      EXPECT_EQ(session->take(ids[size_t(seed)]).ids,
                fakeGreedy(fakePrompt(5 + seed, seed), 10, false));
    EXPECT_EQ(fake.bytesToHost, 6 * 10 * sizeof(int32_t));
    EXPECT_GT(fake.graphLaunches, 0);
  }
}

/// A step begins before the ids of the previous one are known. Meanwhile some answers end with one of those ids, some
/// are cancelled, and requests arrive. None of this affects the other answers.
TEST_F(CudaSession, RunsAheadAndDropsWhatNobodyWants) {
  auto session =
      open(writeFakeEngine("ends.ingot", withGpuProgram({"cuda:sm_90a"}, true, /*greedy=*/true)),
           "cuda");
  ASSERT_TRUE(session);
  std::vector<int32_t> whole = fakeGreedy(fakePrompt(6, 1), 10, false);
  std::atomic<bool> cancel = false;
  auto start = [&](std::vector<int32_t> stopIds, const std::atomic<bool> *flag = nullptr) {
    Request request;
    request.promptIds = fakePrompt(6, 1);
    request.maxTokens = 10;
    request.ignoreEos = true;
    request.stopIds = std::move(stopIds);
    request.cancel = flag;
    auto id = session->submit(std::move(request));
    EXPECT_TRUE(id);
    return *id;
  };
  RequestId stopped = start({whole[4]}), cancelled = start({}, &cancel),
            other = submit(*session, 3);
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(session->step());
  cancel = true;
  RequestId late = submit(*session, 2);
  session->runUntilDone();
  size_t end = size_t(std::ranges::find(whole, whole[4]) - whole.begin());
  EXPECT_EQ(session->take(stopped).ids, std::vector(whole.begin(), whole.begin() + long(end)));
  EXPECT_EQ(session->take(cancelled).ids, std::vector(whole.begin(), whole.begin() + 3));
  EXPECT_EQ(session->take(other).ids, fakeGreedy(fakePrompt(8, 3), 10, false));
  EXPECT_EQ(session->take(late).ids, fakeGreedy(fakePrompt(7, 2), 10, false));
  // The only remaining answer ends with an id after the next step has already begun.
  RequestId last = start({whole[0]});
  session->runUntilDone();
  EXPECT_TRUE(session->take(last).ids.empty());
  ASSERT_TRUE(session->score(fakePrompt(9, 4)));
  EXPECT_EQ(fake.torn, 0);
}

/// There are too few pages for all sequences, and steps begin before the previous ids are known. Pages are copied for
/// choices, and swapped or recomputed, in the device's order. Snapshots of a state of fixed size are handled likewise.
TEST_F(CudaSession, PreemptsAndForksWhileItRunsAhead) {
  for (auto [greedy, recurrent] : {std::pair(true, false), {false, false}, {true, true}})
    for (uint64_t swapBytes : {0, 1 << 20}) {
      FakeOptions made = withGpuProgram({"cuda:sm_90a"}, true, greedy, /*draws=*/false);
      made.recurrent = recurrent;
      std::string path = writeFakeEngine("tight.ingot", made);
      SessionOptions options;
      options.device = "cuda";
      options.maxSeqs = 5;
      options.context = 200;
      options.loadTokenizer = false;
      options.maxBatchTokens = 24;
      auto all = Session::open(path, options);
      ASSERT_TRUE(all);
      options.kvMemoryBytes = (*all)->memory().kv / (*all)->memory().pages * 9;
      all->reset();
      options.swapBytes = swapBytes;
      auto session = Session::open(path, options);
      ASSERT_TRUE(session) << session.error().format();
      std::vector<std::vector<RequestId>> ids;
      for (int seed = 0; seed < 8; ++seed) {
        Request request;
        request.promptIds = fakePrompt(20 + 9 * seed, seed);
        request.maxTokens = 70;
        request.ignoreEos = true;
        auto asked = (*session)->submit(std::move(request), 1 + seed % 3);
        ASSERT_TRUE(asked);
        ids.push_back(*asked);
        for (int i = 0; i < seed; ++i)
          (*session)->step();
      }
      (*session)->runUntilDone();
      for (int seed = 0; seed < 8; ++seed)
        for (RequestId id : ids[size_t(seed)])
          ASSERT_EQ((*session)->take(id).ids,
                    fakeGreedy(fakePrompt(20 + 9 * seed, seed), 70, false, recurrent));
      ScheduleStats stats = (*session)->stats();
      EXPECT_GT(stats.preemptions, 2u);
      EXPECT_GT(stats.copiedPages, 0u); // fewer if the other holder was preempted instead
      EXPECT_EQ(stats.pagesUsed, 0);
      EXPECT_EQ(fake.torn, 0);
      EXPECT_EQ((*session)->failure(), nullptr);
    }
}

/// Beams need logits, and they fork and end at every step. They run together with answers that the device samples a
/// step ahead, and there are too few pages for all. The results must equal those on the CPU.
TEST_F(CudaSession, BeamsBesideIdsOfTheDevice) {
  std::string path =
      writeFakeEngine("beams.ingot", withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true));
  std::vector<std::vector<int32_t>> expected;
  for (const char *device : {"cpu", "cuda"})
    for (uint64_t pages : {100, 9}) {
      SessionOptions options;
      options.device = device;
      options.maxSeqs = 6;
      options.context = 200;
      options.loadTokenizer = false;
      auto roomy = Session::open(path, options);
      ASSERT_TRUE(roomy) << roomy.error().format();
      options.kvMemoryBytes = (*roomy)->memory().kv / (*roomy)->memory().pages * pages;
      options.swapBytes = 1 << 16;
      auto session = Session::open(path, options);
      ASSERT_TRUE(session) << session.error().format();
      std::vector<RequestId> beams, plain;
      for (int seed = 0; seed < 4; ++seed) {
        Request request;
        request.promptIds = fakePrompt(12 + 9 * seed, seed);
        request.maxTokens = 50;
        request.ignoreEos = true;
        request.beams = BeamParams{2 + seed % 2};
        auto asked = (*session)->submit(std::move(request), 2);
        ASSERT_TRUE(asked) << asked.error().format();
        beams.insert(beams.end(), asked->begin(), asked->end());
        plain.push_back(submit(**session, seed));
        for (int i = 0; i < seed; ++i)
          (*session)->step();
      }
      (*session)->runUntilDone();
      std::vector<std::vector<int32_t>> found;
      for (RequestId id : beams)
        found.push_back((*session)->take(id).ids);
      if (expected.empty())
        expected = found;
      EXPECT_EQ(found, expected) << device << ", " << pages << " pages";
      for (int seed = 0; seed < 4; ++seed)
        EXPECT_EQ((*session)->take(plain[size_t(seed)]).ids,
                  fakeGreedy(fakePrompt(5 + seed, seed), 10, false));
      EXPECT_EQ((*session)->stats().preemptions > 0, pages == 9);
      EXPECT_EQ((*session)->stats().pagesUsed, 0);
      EXPECT_EQ(fake.torn, 0);
    }
}

/// Returns the ids that the fake GPU draws, token by token.
std::vector<int32_t> fakeDrawn(std::vector<int32_t> ids, const SamplingParams &params,
                               int64_t count) {
  const size_t prompt = ids.size();
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float> logits = fakeLogits(ids);
    auto best = int32_t(std::ranges::max_element(logits) - logits.begin());
    ids.push_back(fakeDraw(best, rowSampling(params), int64_t(ids.size())));
  }
  return {ids.begin() + long(prompt), ids.end()};
}

/// The device samples answers of all kinds in one batch while the host is a step behind. Some end with
/// an id after the next step has begun. A request that needs logits joins, which makes the host
/// sample, and leaves again.
TEST_F(CudaSession, DrawnIdsComeFromTheDevice) {
  auto session = open(writeFakeEngine("drawn.ingot", withGpuProgram({"cuda:sm_90a"}, true,
                                                                    /*greedy=*/true,
                                                                    /*draws=*/true)),
                      "cuda");
  ASSERT_TRUE(session);
  struct Asked {
    RequestId id;
    Request request;
  };
  std::vector<Asked> asked;
  auto start = [&](int seed, std::function<void(Request &)> change) {
    Request request;
    request.promptIds = fakePrompt(5 + seed, seed);
    request.maxTokens = 12;
    request.ignoreEos = true;
    change(request);
    auto id = session->submit(request);
    EXPECT_TRUE(id) << id.error().format();
    asked.push_back({*id, request});
  };
  start(1, [](Request &r) { r.sampling.temperature = 0.5f, r.sampling.seed = 9; });
  start(2, [](Request &) {});
  start(3, [](Request &r) {
    r.sampling.temperature = 2, r.sampling.topK = 4, r.sampling.topP = 0.25f;
    r.sampling.minP = 0.125f, r.sampling.choice = 1;
    r.stopIds = {fakeDrawn(r.promptIds, r.sampling, 12)[6]};
  });
  fake.bytesToHost = 0;
  session->runUntilDone();
  size_t rows = 0;
  auto check = [&] {
    for (const auto &[id, request] : asked) {
      std::vector<int32_t> expected = fakeDrawn(request.promptIds, request.sampling, 12);
      if (!request.stopIds.empty())
        expected.resize(size_t(std::ranges::find(expected, request.stopIds[0]) - expected.begin()));
      EXPECT_EQ(session->take(id).ids, expected) << id;
      // The id that ends an answer, and the one that was computed past its end.
      rows += expected.size() + (request.stopIds.empty() ? 0 : 2);
    }
    asked.clear();
  };
  check();
  EXPECT_EQ(fake.bytesToHost, rows * sizeof(int32_t)) << "ids alone";
  EXPECT_GT(fake.graphLaunches, 0);

  // A step with one row that the host must sample returns the logits of all rows, and the host samples all.
  start(4, [](Request &r) { r.sampling.temperature = 0.5f, r.maxTokens = 1; });
  Request logprobs;
  logprobs.promptIds = fakePrompt(7, 5);
  logprobs.maxTokens = 3;
  logprobs.ignoreEos = true;
  logprobs.sampling.topLogprobs = 0;
  auto wantsMore = session->submit(logprobs);
  ASSERT_TRUE(wantsMore);
  fake.bytesToHost = 0;
  session->runUntilDone();
  EXPECT_EQ(session->take(*wantsMore).logprobs.size(), session->take(asked[0].id).ids.size() * 3);
  EXPECT_EQ(fake.bytesToHost, 4 * 128 * sizeof(float));
  asked.clear();
  start(1, [](Request &r) { r.sampling.temperature = 0.5f, r.sampling.seed = 9; });
  session->runUntilDone();
  check();
  EXPECT_EQ(fake.torn, 0);
}

/// One row that needs logits makes its steps return the logits of all rows.
TEST_F(CudaSession, LogitsComeBackWhereIdsAreNotEnough) {
  auto session =
      open(writeFakeEngine("mixed.ingot", withGpuProgram({"cuda:sm_90a"}, false, /*greedy=*/true)),
           "cuda");
  ASSERT_TRUE(session);
  auto bytesOf = [&](std::function<void(Request &)> change) {
    fake.bytesToHost = 0;
    RequestId plain = submit(*session, 1);
    Request request;
    request.promptIds = fakePrompt(7, 2);
    request.maxTokens = 4;
    request.ignoreEos = true;
    change(request);
    auto id = session->submit(std::move(request));
    EXPECT_TRUE(id);
    session->runUntilDone();
    session->take(*id);
    EXPECT_EQ(session->take(plain).ids, fakeGreedy(fakePrompt(6, 1), 10, false));
    return fake.bytesToHost;
  };
  const size_t ids = 14 * sizeof(int32_t);
  const size_t logits = 8 * 128 * sizeof(float) + 6 * sizeof(int32_t); // four steps with two rows
  EXPECT_EQ(bytesOf([](Request &) {}), ids);
  EXPECT_EQ(bytesOf([](Request &r) { r.sampling.temperature = 0.7f; }), logits);
  EXPECT_EQ(bytesOf([](Request &r) { r.sampling.repetitionPenalty = 1.2f; }), logits);
  EXPECT_EQ(bytesOf([](Request &r) { r.sampling.presencePenalty = 0.5f; }), logits);
  EXPECT_EQ(bytesOf([](Request &r) { r.sampling.logitBias = {{3, 1.0f}}; }), logits);
  EXPECT_EQ(bytesOf([](Request &r) { r.sampling.topLogprobs = 0; }), logits);
  EXPECT_EQ(bytesOf([](Request &r) { r.onLogits = [](const LogitsRow &) {}; }), logits);
  // Scores need logits.
  fake.bytesToHost = 0;
  ASSERT_TRUE(session->score(fakePrompt(9, 4)));
  EXPECT_EQ(fake.bytesToHost, 8 * 128 * sizeof(float));
}

TEST_F(CudaSession, GpuCodeAloneNeedsNoOption) {
  auto session = open(writeFakeEngine("alone.ingot", withGpuProgram({"cuda:sm_90a"}, true)), "");
  ASSERT_TRUE(session);
  EXPECT_EQ(session->target(), "cuda:sm_90a");
  EXPECT_EQ(session->device(), "Fake GPU");
}

TEST_F(CudaSession, RefusesDevicesThatTheEngineHasNoCodeFor) {
  SessionOptions options;
  options.device = "cuda";
  auto none = Session::open(writeFakeEngine("cpu-only.ingot"), options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "E0714");
  EXPECT_EQ(none.error().exit, ExitCode::Device);
  options.device = "cpu";
  auto gpu =
      Session::open(writeFakeEngine("alone.ingot", withGpuProgram({"cuda:sm_90a"}, true)), options);
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().code, "E0381");
  options.device = "tpu";
  EXPECT_EQ(Session::open(writeFakeEngine("cpu-only.ingot"), options).error().code, "E0501");
}

TEST_F(CudaSession, TakesAContextThatFits) {
  fake.memory = 300'000;
  SessionOptions options;
  options.device = "cuda";
  options.maxBatchTokens = 16;
  auto session =
      Session::open(writeFakeEngine("fit.ingot", withGpuProgram({"cuda:sm_90a"})), options);
  ASSERT_TRUE(session) << session.error().format();
  EXPECT_LT((*session)->context(), 2048);
  EXPECT_LE((*session)->memory().needed(), 300'000u);
}

/// Steps have as many tokens as a GPU needs, unless their activations take too much memory.
TEST_F(CudaSession, TokensOfAStepFollowTheMemory) {
  std::string path = writeFakeEngine("tokens.ingot", withGpuProgram({"cuda:sm_90a"}));
  auto tokens = [&](const char *device, size_t memory, int64_t asked) {
    fake.memory = memory;
    SessionOptions options;
    options.device = device;
    options.context = 256;
    options.loadTokenizer = false;
    options.maxBatchTokens = asked;
    auto session = Session::open(path, options);
    EXPECT_TRUE(session) << session.error().format();
    return session ? (*session)->memory().limits.maxBatchTokens : 0;
  };
  auto file = EngineFile::open(path);
  ASSERT_TRUE(file);
  const uint64_t each = (*file)->table().programs()->Get(0)->bytes_per_token();
  EXPECT_EQ(tokens("cpu", 0, 0), 512u);
  EXPECT_EQ(tokens("cuda", 0, 0), 2048u);
  EXPECT_EQ(tokens("cuda", each * 2048 * 17, 0), 2048u);
  EXPECT_EQ(tokens("cuda", each * 2048 * 15, 0), 1024u);
  EXPECT_EQ(tokens("cuda", each * 1024 * 15, 0), 512u);
  EXPECT_EQ(tokens("cuda", each * 1024 * 15, 700), 700u);
}

/// `serve` takes half of the GPU memory that remains after everything else, whatever the host has.
TEST_F(CudaSession, KvPagesTakeTheirShareOfWhatIsLeft) {
  std::string path = writeFakeEngine("share.ingot", withGpuProgram({"cuda:sm_90a"}));
  fake.memory = 64 << 20;
  SessionOptions options;
  options.device = "cuda";
  options.loadTokenizer = false;
  options.maxSeqs = 32;
  options.kvShare = 0.5;
  auto session = Session::open(path, options);
  ASSERT_TRUE(session) << session.error().format();
  const MemoryPlan &memory = (*session)->memory();
  const double left = double((64 << 20) - (memory.needed() - memory.kv));
  EXPECT_NEAR(double(memory.kv), left / 2, left / 100);
  EXPECT_EQ(memory.limits.reserved, 8u << 20);
  EXPECT_EQ((*session)->context(), 2048);
  options.kvMemoryBytes = 1 << 20;
  session->reset();
  auto given = Session::open(path, options);
  ASSERT_TRUE(given) << given.error().format();
  EXPECT_EQ((*given)->memory().kv, 1u << 20);
}

TEST_F(CudaSession, AFailureOfTheDeviceEndsWhatIsUnderWay) {
  auto session = open(writeFakeEngine("fails.ingot", withGpuProgram({"cuda:sm_90a"})), "cuda");
  ASSERT_TRUE(session);
  RequestId first = submit(*session, 1), second = submit(*session, 2);
  ASSERT_TRUE(session->step());
  ASSERT_TRUE(session->step());
  fake.failCall = "cuStreamSynchronize";
  EXPECT_FALSE(session->step());
  fake.failCall = nullptr;
  EXPECT_FALSE(session->step());
  ASSERT_TRUE(session->failure());
  EXPECT_EQ(session->failure()->code, "E0718");
  for (RequestId id : {first, second}) {
    ASSERT_TRUE(session->finished(id));
    Completion answer = session->take(id);
    EXPECT_EQ(answer.finishReason, FinishReason::Cancelled);
    EXPECT_EQ(answer.ids.size(), 2u);
  }
  Request request;
  request.promptIds = {1};
  EXPECT_EQ(session->submit(std::move(request)).error().code, "E0718");
  EXPECT_EQ(session->logits(std::vector<int32_t>{1, 2}, [](auto...) {}).error().code, "E0718");
}

} // namespace
