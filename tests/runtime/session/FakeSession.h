//===- FakeSession.h - A session on the fake engine, for the tests --------===//
#pragma once

#include "compiler/text/TextBuild.h"
#include "runtime/session/Session.h"
#include "tests/runtime/device/FakeEngine.h"

#include <bit>
#include <cstdio>

#include <gtest/gtest.h>

namespace ingot::test {

/// Bytes of a page of the engine's caches, for both of its states.
constexpr uint64_t kFakePage = 2 * 4096;

/// Owns an engine file for the duration of a test.
class FakeSessionTest : public testing::Test {
protected:
  void SetUp() override { path = writeFakeEngine("session.ingot", options()); }
  void TearDown() override { std::remove(path.c_str()); }
  virtual FakeOptions options() { return {}; }
  /// Returns options with a tokenizer, for tests that link ingot-text-build.
  static FakeOptions withTokenizer() {
    auto made = text::compileTokenizerJson(fakeTokenizerJson());
    EXPECT_TRUE(made) << made.error().format();
    FakeOptions options;
    options.tokenizerKind = made->kind;
    options.tokenizerBytes = made->bytes;
    return options;
  }

  std::unique_ptr<runtime::Session> open(const runtime::SessionOptions &options = {}) {
    auto session = runtime::Session::open(path, options);
    EXPECT_TRUE(session) << session.error().format();
    return std::move(*session);
  }

  static runtime::Request request(std::vector<int32_t> prompt, int64_t maxTokens) {
    runtime::Request request;
    request.promptIds = std::move(prompt);
    request.maxTokens = maxTokens;
    return request;
  }

  static runtime::ValidatedRequest validated(const runtime::Session &session,
                                             runtime::Request request, int32_t choices = 1) {
    auto valid = session.validate(std::move(request), choices);
    EXPECT_TRUE(valid) << valid.error().format();
    return std::move(*valid);
  }

  /// Submits, runs and takes one request.
  static runtime::Completion answer(runtime::Session &session, runtime::Request request) {
    auto id = session.submit(std::move(request));
    EXPECT_TRUE(id) << id.error().format();
    session.runUntilDone();
    EXPECT_TRUE(session.finished(*id));
    return session.take(*id);
  }

  /// Expects equal ids, text and finish reason, and bit-identical log-probabilities.
  static void expectEqual(const runtime::Completion &a, const runtime::Completion &b) {
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.finishReason, b.finishReason);
    ASSERT_EQ(a.logprobs.size(), b.logprobs.size());
    for (size_t i = 0; i < a.logprobs.size(); ++i)
      for (size_t k = 0; k < a.logprobs[i].size(); ++k) {
        EXPECT_EQ(a.logprobs[i][k].id, b.logprobs[i][k].id);
        EXPECT_EQ(std::bit_cast<uint32_t>(a.logprobs[i][k].logprob),
                  std::bit_cast<uint32_t>(b.logprobs[i][k].logprob));
      }
  }

  /// Returns a prompt whose greedy answer reaches eos as token `from` … `to`.
  static std::vector<int32_t> promptThatStops(int64_t from, int64_t to) {
    for (int seed = 0;; ++seed) {
      std::vector<int32_t> prompt = fakePrompt(9, seed);
      int64_t length = int64_t(fakeGreedy(prompt, to + 1, true).size());
      if (length >= from && length <= to)
        return prompt;
    }
  }

  std::string path;
};

} // namespace ingot::test
