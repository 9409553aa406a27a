//===- FakeSession.h - A session on the fake engine, for the tests --------===//
#pragma once

#include "runtime/service/Session.h"
#include "tests/runtime/device/FakeEngine.h"

#include <cstdio>

#include <gtest/gtest.h>

namespace ingot::test {

/// Owns the file of an engine for the length of a test.
class FakeSessionTest : public testing::Test {
protected:
  void SetUp() override { path = writeFakeEngine("session.ingot", options()); }
  void TearDown() override { std::remove(path.c_str()); }
  virtual FakeOptions options() { return {}; }

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

  /// Submits, runs and takes one request.
  static runtime::Completion answer(runtime::Session &session, runtime::Request request) {
    auto id = session.submit(std::move(request));
    EXPECT_TRUE(id) << id.error().format();
    session.runUntilDone();
    EXPECT_TRUE(session.finished(*id));
    return session.take(*id);
  }

  /// A prompt whose greedy answer meets eos as token `from` … `to`.
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
