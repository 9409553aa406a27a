//===- ClientTest.cpp - The HTTP client against our own server ---------------===//
#include "runtime/server/http/client/Client.h"
#include "runtime/server/http/Server.h"

#include <gtest/gtest.h>
#include <mutex>

using namespace ingot::http;
using namespace std::chrono_literals;

namespace {

class Client : public testing::Test {
protected:
  void SetUp() override {
    ServerOptions options;
    options.port = 0;
    auto made = Server::create(options, [this](HttpRequest request,
                                               std::shared_ptr<Responder> responder) {
      if (request.path == "/never") {
        std::lock_guard lock(mutex);
        responder->onGone([this] { ++left; });
        held.push_back(std::move(responder));
        return;
      }
      if (request.path == "/stream") {
        responder->begin(200, "text/event-stream");
        for (int i = 0; i < 50; ++i)
          responder->write("data: " + std::to_string(i) + "\n\n");
        return responder->finish();
      }
      responder->send(201, "text/plain", request.method + " " + request.path + " " + request.body);
    });
    ASSERT_TRUE(made) << made.error().format();
    server = std::move(*made);
    server->start();
  }
  void TearDown() override {
    server->stop();
    held.clear();
  }
  ServerUrl url() const { return {"127.0.0.1", server->port(), ""}; }

  std::mutex mutex;
  std::vector<std::shared_ptr<Responder>> held;
  std::atomic<int> left = 0;
  std::unique_ptr<Server> server;
};

TEST_F(Client, keepsItsConnections) {
  ClientLoop loop(url());
  int ended = 0;
  std::function<void(int)> ask = [&](int more) {
    loop.send({.method = "POST", .path = "/echo", .body = std::to_string(more)},
              {.onHead = [](int status) { EXPECT_EQ(status, 201); },
               .onData = {},
               .onEnd =
                   [&, more](const std::string &failure) {
                     EXPECT_EQ(failure, "");
                     ++ended;
                     if (more)
                       ask(more - 1);
                   }});
  };
  ask(20);
  ask(20);
  loop.run();
  EXPECT_EQ(ended, 42);
  EXPECT_EQ(server->stats().accepted, 2u);
}

TEST_F(Client, hearsWholeStreamsAtOnce) {
  ClientLoop loop(url());
  std::vector<std::string> bodies(64);
  for (std::string &body : bodies)
    loop.send({.path = "/stream"},
              {.onHead = {},
               .onData = [&](std::string_view data) { body += data; },
               .onEnd = [](const std::string &failure) { EXPECT_EQ(failure, ""); }});
  loop.run();
  for (const std::string &body : bodies)
    EXPECT_TRUE(body.starts_with("data: 0\n\n") && body.ends_with("data: 49\n\n")) << body;
}

TEST_F(Client, leavesAndTimesOut) {
  ClientLoop loop(url());
  int heard = 0;
  const auto ticket =
      loop.send({.path = "/never"},
                {.onHead = {}, .onData = {}, .onEnd = [&](const std::string &) { ++heard; }});
  loop.after(50ms, [&] { loop.abandon(ticket); });
  std::string why;
  loop.send(
      {.path = "/never", .timeout = 150ms},
      {.onHead = {}, .onData = {}, .onEnd = [&](const std::string &failure) { why = failure; }});
  loop.run();
  EXPECT_EQ(heard, 0);
  EXPECT_EQ(why, "timeout");
  for (int i = 0; i < 100 && left < 2; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(left, 2) << "the server sees both go";
}

TEST_F(Client, saysWhenNobodyIsThere) {
  const uint16_t port = server->port();
  server->stop();
  EXPECT_EQ(ClientLoop({"127.0.0.1", port, ""}).ask({.path = "/"}).failure,
            "connect: Connection refused");
  EXPECT_TRUE(ClientLoop({"no-such-host.invalid", 1, ""})
                  .ask({.path = "/"})
                  .failure.starts_with("the host name cannot be resolved"));
}

} // namespace
