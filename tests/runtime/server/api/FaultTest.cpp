//===- FaultTest.cpp - What clients receive if a device fails ---------------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// An executor that fails at a step, or blocks in it until it is released.
class Failing final : public ExecutorAround {
public:
  Failing(std::unique_ptr<runtime::Executor> device, int at, std::atomic<bool> *held)
      : ExecutorAround(std::move(device)), left(at), held(held) {}
  bool draws(const RowSampling &) const override { return false; }
  Result<void> step(const BatchView &batch) override {
    if (left-- > 0)
      return inner->step(batch);
    if (!held)
      return Error{ExitCode::Device, "E0716", "the GPU reports an error", "launch failed", ""};
    held->wait(true);
    return inner->step(batch);
  }

private:
  int left;
  std::atomic<bool> *held;
};

class ApiFault : public ApiTest {
protected:
  void failAt(int step, bool hang) {
    runtime::SessionOptions session;
    session.maxSeqs = 4;
    held = hang;
    session.around = [this, step, hang](std::unique_ptr<runtime::Executor> device) {
      return std::make_unique<Failing>(std::move(device), step, hang ? &held : nullptr);
    };
    serve(session, "{% for m in messages %}{{ m.content }}{% endfor %}", hang ? 0.3 : 0);
  }
  void letGo() {
    held = false;
    held.notify_all();
  }
  void TearDown() override {
    letGo();
    while (models->all().front()->service().hung())
      std::this_thread::yield();
    ApiTest::TearDown();
  }
  void check(const char *code) {
    const std::string body = R"({"prompt":"abc","max_tokens":60,"temperature":0,"ignore_eos":true)";
    auto whole = begin("/v1/completions", body + "}");
    auto streamed = begin("/v1/completions", body + R"(,"stream":true})");
    auto chat = begin("/v1/chat/completions",
                      R"({"messages":[{"role":"user","content":"x"}],"max_tokens":60})");
    for (const auto &one : {whole, streamed, chat})
      ASSERT_TRUE(one->wait()) << "a request hangs";
    const std::string said =
        std::string("\"type\":\"engine_error\",\"param\":null,\"code\":\"") + code;
    for (const auto &one : {whole, chat}) {
      EXPECT_EQ(one->status, 503);
      EXPECT_NE(one->body.find(said), std::string::npos) << one->body;
    }
    // A stream that has begun ends with the error as its last event.
    EXPECT_NE(streamed->body.find(said), std::string::npos) << streamed->body;
    EXPECT_EQ(streamed->body.find("[DONE]"), std::string::npos);
    EXPECT_EQ(at(ask("/v1/completions", body + "}", 503), "/error/type"), "engine_error");
    EXPECT_EQ(at(ask("/health", "", 503), "/error/code"), code);
  }
  std::atomic<bool> held = false;
};

} // namespace

TEST_F(ApiFault, aLaunchThatFails) {
  failAt(10, false);
  check("E0716");
}

TEST_F(ApiFault, theFirstLaunchFails) {
  failAt(0, false);
  check("E0716");
}

TEST_F(ApiFault, aStepThatDoesNotEnd) {
  failAt(10, true);
  check("E0725");
}
