//===- LiveTest.cpp - The requests of the live page --------------------------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// An executor that delays each step, so that requests are still running when the test looks for them.
class Slow final : public ExecutorAround {
public:
  using ExecutorAround::ExecutorAround;
  bool draws(const RowSampling &) const override { return false; }
  Result<void> step(const BatchView &batch) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return inner->step(batch);
  }
};

class ApiLive : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    runtime::SessionOptions session;
    session.maxSeqs = 2;
    session.around = [](std::unique_ptr<runtime::Executor> device) {
      return std::make_unique<Slow>(std::move(device));
    };
    serve(session, "");
  }
  std::shared_ptr<KeptResponse> post(const std::string &path, const std::string &body,
                                     const std::string &id, int key) {
    auto response = std::make_shared<KeptResponse>();
    http::HttpRequest request;
    request.method = "POST";
    request.path = path;
    request.body = body;
    request.id = id;
    request.apiKey = key;
    thread.push([this, request, response] { routes->handle(request, response); });
    return response;
  }
  int cancel(const std::string &id, int key) {
    auto response = post("/live/cancel", R"({"id":")" + id + "\"}", "other", key);
    EXPECT_TRUE(response->wait());
    return response->status;
  }
};

constexpr const char *kLong =
    R"({"prompt":"abc","max_tokens":1500,"temperature":0,"ignore_eos":true)";

} // namespace

TEST_F(ApiLive, RequestsAreEndedByHand) {
  auto whole = post("/v1/completions", std::string(kLong) + "}", "one", 0);
  auto streamed = post("/v1/completions", std::string(kLong) + R"(,"stream":true})", "two", 0);
  auto waiting = post("/v1/completions", std::string(kLong) + "}", "three", 1);
  while (models->all().front()->service().underWay() < 3)
    std::this_thread::yield();
  while (!at(ask("/live.json", ""), "/models/0/requests/2/id").starts_with("t"))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(cancel("none", 0), 404);
  EXPECT_EQ(cancel("one", 1), 404) << "another key's";
  EXPECT_EQ(cancel("one", 0), 200);
  EXPECT_EQ(cancel("two", 0), 200);
  EXPECT_EQ(cancel("three", 1), 200) << "it waits";
  for (const auto &one : {whole, streamed, waiting}) {
    ASSERT_TRUE(one->wait());
    EXPECT_NE(one->body.find("\"code\":\"E0559\""), std::string::npos) << one->body;
  }
  EXPECT_EQ(whole->status, 503);
  EXPECT_EQ(waiting->status, 503);
  EXPECT_EQ(cancel("one", 0), 404) << "it is over";
  EXPECT_EQ(at(ask("/live/cancel", "{}", 400), "/error/message"), "id: is required");
  ask("/v1/completions", R"({"prompt":"a","max_tokens":1})"); // the next request is served
}
