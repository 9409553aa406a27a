//===- SessionLogitsTest.cpp - Logits of every position, score ------------===//
#include "tests/runtime/session/FakeSession.h"

#include <cmath>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {
class SessionLogitsTest : public FakeSessionTest {};
} // namespace

TEST_F(SessionLogitsTest, everyPositionInOrderForAnyRowsAndChunks) {
  std::vector<int32_t> ids = fakePrompt(100, 1);
  for (int64_t rows : {1, 5, 64, 512})
    for (int64_t chunk : {7, 512}) {
      SessionOptions options;
      options.logitsRows = rows;
      options.prefillChunk = chunk;
      auto session = open(options);
      int64_t next = 0;
      auto ran = session->logits(
          ids, [&](int64_t first, int64_t count, const float *data, int64_t stride) {
            ASSERT_EQ(first, next);
            ASSERT_LE(count, std::min(rows, chunk));
            for (int64_t row = 0; row < count; ++row) {
              std::vector<float> expected = fakeLogits({ids.data(), size_t(first + row) + 1});
              for (int32_t id = 0; id < kFakeVocab; ++id)
                ASSERT_EQ(data[row * stride + id], expected[size_t(id)]);
            }
            next += count;
          });
      ASSERT_TRUE(ran);
      EXPECT_EQ(next, 100);
    }
}

TEST_F(SessionLogitsTest, scoreIsTheLogSoftmaxOfTheNextId) {
  std::vector<int32_t> ids = fakePrompt(80, 2);
  SessionOptions options;
  options.logitsRows = 16;
  auto session = open(options);
  auto score = session->score(ids);
  ASSERT_TRUE(score);
  ASSERT_EQ(score->nll.size(), 79u);
  double sum = 0;
  for (size_t i = 0; i < 79; ++i) {
    std::vector<float> logits = fakeLogits({ids.data(), i + 1});
    double total = 0;
    for (float logit : logits)
      total += std::exp(double(logit));
    double expected = std::log(total) - double(logits[size_t(ids[i + 1])]);
    EXPECT_NEAR(score->nll[i], expected, 1e-12);
    sum += expected;
  }
  EXPECT_NEAR(score->perplexity, std::exp(sum / 79), 1e-9);
}

TEST_F(SessionLogitsTest, theWholeContextCanBeScored) {
  SessionOptions options;
  options.context = 64;
  options.logitsRows = 64;
  auto session = open(options);
  EXPECT_TRUE(session->logits(fakePrompt(64, 3), [](auto...) {}));
  auto tooLong = session->logits(fakePrompt(65, 3), [](auto...) {});
  ASSERT_FALSE(tooLong);
  EXPECT_EQ(tooLong.error().code, "E0505");
  auto single = session->score(fakePrompt(1, 3));
  ASSERT_FALSE(single);
  EXPECT_EQ(single.error().code, "E0503");
  // Requests run as before.
  EXPECT_EQ(answer(*session, request({5}, 3)).ids, fakeGreedy({5}, 3, true));
}

TEST_F(SessionLogitsTest, cancelStopsEarlyAndFreesThePages) {
  SessionOptions options;
  options.logitsRows = 8;
  auto session = open(options);
  std::atomic<bool> cancel{false};
  int64_t rows = 0;
  auto ran = session->logits(
      fakePrompt(100, 4),
      [&](int64_t, int64_t count, const float *, int64_t) {
        rows += count;
        cancel = true;
      },
      &cancel);
  EXPECT_TRUE(ran);
  EXPECT_EQ(rows, 8);
  EXPECT_EQ(answer(*session, request({5}, 3)).ids, fakeGreedy({5}, 3, true));
}
