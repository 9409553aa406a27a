// Tests shutdown: drain, wait, stop.

#include "TestServer.h"

using namespace ingot::http;
using namespace std::chrono_literals;

static const std::string kRefusal =
    errorBody("the server is shutting down", "server_error", "", "draining");

TEST(HttpDrain, FinishesWhatIsUnderWayAndRefusesTheRest) {
  TestServer test({.openPaths = {"/health"}}, 2ms);
  RawClient streaming = test.client(), held = test.client(), idle = test.client(),
            typing = test.client();
  streaming.send(get("/tokens?100"));
  held.send(get("/hold"));
  ASSERT_TRUE(streaming.receiveUntil("data: 2\n"));
  ASSERT_EQ(idle.ask(get("/health")).status, 200);
  typing.send("POST /echo HTTP/1.1\r\nHost: local");
  ASSERT_TRUE(soon([&] { return test.held() == 1; }));
  std::this_thread::sleep_for(20ms); // the half request has arrived

  test.server->drain(503, kRefusal);
  EXPECT_TRUE(idle.sawEnd()) << "idle ones close";
  typing.send("host\r\nContent-Length: 0\r\n\r\n");
  Answer refused = typing.answer();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.body, kRefusal);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_TRUE(typing.sawEnd());
  Answer health = test.client().ask(get("/health"));
  EXPECT_EQ(health.status, 200) << "what is open is still the handler's to answer";
  EXPECT_EQ(health.header("connection"), "close");
  EXPECT_EQ(test.client().ask(get("/echo")).status, 503);
  EXPECT_FALSE(test.server->waitUntilIdle(20ms));
  EXPECT_EQ(streaming.answer().body, tokens(100));
  EXPECT_TRUE(streaming.sawEnd());
  EXPECT_FALSE(test.server->waitUntilIdle(20ms));
  test.release();
  EXPECT_EQ(held.answer().body, "released");
  EXPECT_TRUE(test.server->waitUntilIdle(5s));
  EXPECT_EQ(test.gone, 0);
}

TEST(HttpDrain, StopDropsWhatIsLeft) {
  TestServer test({}, 1ms);
  RawClient streaming = test.client(), held = test.client(), idle = test.client();
  streaming.send(get("/tokens?1000000"));
  held.send(get("/hold"));
  ASSERT_TRUE(streaming.receiveUntil("data: 2\n"));
  ASSERT_TRUE(soon([&] { return test.held() == 1; }));
  const auto start = std::chrono::steady_clock::now();
  test.server->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_EQ(test.gone, 2) << "their owners hear of it";
  EXPECT_TRUE(streaming.sawEnd());
  EXPECT_TRUE(held.sawEnd());
  EXPECT_TRUE(idle.sawEnd());
  EXPECT_FALSE(test.client().connected());
  test.release(); // no client is left
  test.server->stop();
  EXPECT_TRUE(test.server->waitUntilIdle(0ms));
}

TEST(HttpDrain, AServerThatNeverStartedEnds) {
  ServerOptions options;
  options.port = 0;
  auto server = Server::create(options, [](HttpRequest, std::shared_ptr<Responder>) {});
  ASSERT_TRUE(server);
  EXPECT_NE((*server)->port(), 0);
  EXPECT_TRUE((*server)->waitUntilIdle(0ms));
}

TEST(HttpDrain, WritersMayRaceWithTheEnd) {
  for (int round = 0; round < 20; ++round) {
    TestServer test;
    std::vector<RawClient> clients;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(test.client());
      clients.back().send(get(i % 2 ? "/tokens?100000" : "/flood"));
    }
    clients.back().receiveUntil("data: 1\n");
    if (round % 2)
      test.server->drain(503, kRefusal);
  } // the server stops while its engine thread writes
}
