//===- SessionBatchTest.cpp - Answers are batch-invariant -----------------===//
//
// Tests the runtime's part of batch invariance: the same request gives the same ids by itself and
// in batches of 2 to 64, for every chunk size and thread count, with plenty of pages and with few.
//===----------------------------------------------------------------------===//
#include "tests/runtime/session/FakeSession.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class SessionBatchTest : public FakeSessionTest {
protected:
  /// Returns request `i`: a prompt of 1 to 90 ids, alternately greedy and sampled.
  static Request nth(int i) {
    Request wanted = request(fakePrompt(1 + (i * 37) % 90, i), 5 + (i * 11) % 40);
    if (i % 2) {
      wanted.sampling.temperature = 0.8f;
      wanted.sampling.topK = i % 4 == 1 ? 20 : 0;
      wanted.sampling.topP = 0.95f;
      wanted.sampling.seed = uint64_t(i) * 1000003;
      wanted.sampling.frequencyPenalty = 0.3f;
    }
    return wanted;
  }

  /// Runs requests 0 … count-1 together and returns their ids.
  std::vector<std::vector<int32_t>> together(const SessionOptions &options, int count) {
    auto session = open(options);
    std::vector<RequestId> ids;
    for (int i = 0; i < count; ++i) {
      auto id = session->submit(nth(i));
      EXPECT_TRUE(id) << id.error().format();
      ids.push_back(*id);
    }
    session->runUntilDone();
    std::vector<std::vector<int32_t>> answers;
    for (RequestId id : ids)
      answers.push_back(session->take(id).ids);
    return answers;
  }

  std::vector<std::vector<int32_t>> alone(int count) {
    SessionOptions options;
    options.threads = 1;
    auto session = open(options);
    std::vector<std::vector<int32_t>> answers;
    for (int i = 0; i < count; ++i)
      answers.push_back(answer(*session, nth(i)).ids);
    return answers;
  }
};

} // namespace

TEST_F(SessionBatchTest, batchesGiveWhatEachGivesAlone) {
  std::vector<std::vector<int32_t>> expected = alone(64);
  for (size_t i = 0; i < 64; i += 2) // the greedy answers are also known
    ASSERT_EQ(expected[i], fakeGreedy(nth(int(i)).promptIds, nth(int(i)).maxTokens, true));
  for (int batch : {2, 3, 8, 17, 64})
    for (int64_t chunk : {1, 7, 64, 512})
      for (int threads : {1, 2}) {
        SessionOptions options;
        options.maxSeqs = batch;
        options.context = 256;
        options.prefillChunk = chunk;
        options.threads = threads;
        auto answers = together(options, batch);
        for (int i = 0; i < batch; ++i)
          ASSERT_EQ(answers[size_t(i)], expected[size_t(i)])
              << "request " << i << " of " << batch << ", chunk " << chunk << ", " << threads
              << " threads";
      }
}

TEST_F(SessionBatchTest, fewPagesMakeThemWaitAndChangeNothing) {
  std::vector<std::vector<int32_t>> expected = alone(40);
  SessionOptions options;
  options.maxSeqs = 16;
  options.context = 256;
  options.maxBatchTokens = 48;
  options.kvMemoryBytes = 9 * kFakePage; // 9 pages: 288 positions for 40 requests
  EXPECT_EQ(together(options, 40), expected);
}

TEST_F(SessionBatchTest, requestsMayJoinWhileOthersRun) {
  std::vector<std::vector<int32_t>> expected = alone(12);
  SessionOptions options;
  options.maxSeqs = 5;
  options.maxBatchTokens = 20;
  auto session = open(options);
  std::vector<RequestId> ids;
  for (int i = 0; i < 12; ++i) {
    auto id = session->submit(nth(i));
    ASSERT_TRUE(id);
    ids.push_back(*id);
    for (int steps = 0; steps < i % 4; ++steps)
      session->step();
  }
  session->runUntilDone();
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(session->take(ids[size_t(i)]).ids, expected[size_t(i)]);
}

TEST_F(SessionBatchTest, cancelledPartnersChangeNothing) {
  std::vector<std::vector<int32_t>> expected = alone(10);
  SessionOptions options;
  options.maxSeqs = 10;
  auto session = open(options);
  std::atomic<bool> cancel[10] = {};
  std::vector<RequestId> ids;
  for (int i = 0; i < 10; ++i) {
    Request wanted = nth(i);
    wanted.cancel = &cancel[i];
    auto id = session->submit(std::move(wanted));
    ASSERT_TRUE(id);
    ids.push_back(*id);
  }
  session->step();
  session->step();
  for (int i = 0; i < 10; i += 3)
    cancel[i] = true;
  session->runUntilDone();
  for (int i = 0; i < 10; ++i) {
    Completion completion = session->take(ids[size_t(i)]);
    if (i % 3)
      EXPECT_EQ(completion.ids, expected[size_t(i)]);
    else
      EXPECT_LE(completion.ids.size(), 2u);
  }
}
