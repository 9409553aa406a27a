// Tests clients that disconnect in every phase, and clients that do not read.

#include "TestServer.h"

#include <random>

using namespace ingot::http;
using namespace std::chrono_literals;

TEST(HttpDisconnect, IsNoticedInEveryPhase) {
  TestServer test({}, 1ms);
  int left = 0;
  auto leaves = [&](const char *phase, RawClient client, bool reset) {
    SCOPED_TRACE(std::string(phase) + (reset ? ", RST" : ", FIN"));
    const auto start = std::chrono::steady_clock::now();
    client.close(reset);
    ++left;
    EXPECT_TRUE(soon([&] { return test.gone == left; })) << test.gone;
    EXPECT_LT(std::chrono::steady_clock::now() - start, 2s); // about 0.1 ms when measured
  };
  for (bool reset : {false, true}) {
    RawClient waiting = test.client(); // sent nothing or half a request, so nothing is reported
    waiting.close(reset);
    RawClient header = test.client();
    header.send("GET / HT");
    header.close(reset);
    RawClient body = test.client();
    body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf");
    body.close(reset);

    RawClient queued = test.client();
    queued.send(get("/hold"));
    ASSERT_TRUE(soon([&] { return test.held() > 0; }));
    leaves("queued, or computing without a stream", std::move(queued), reset);
    test.release();

    RawClient begun = test.client();
    begun.send(get("/begin"));
    ASSERT_TRUE(begun.receiveUntil("\r\n\r\n"));
    leaves("begun and silent", std::move(begun), reset);
    test.release();

    RawClient streaming = test.client();
    streaming.send(get("/tokens?1000000"));
    ASSERT_TRUE(streaming.receiveUntil("data: 5\n"));
    leaves("streaming", std::move(streaming), reset);

    RawClient pipelined = test.client(); // pipelined data must not hide that it leaves
    pipelined.send(get("/hold") + get("/health"));
    ASSERT_TRUE(soon([&] { return test.held() > 0; }));
    leaves("with a request sent ahead", std::move(pipelined), reset);
    test.release();

    RawClient stuffed = test.client(); // pipelines more than the server reads
    stuffed.send(get("/hold"));
    ASSERT_TRUE(soon([&] { return test.held() > 0; }));
    stuffed.send(post("/echo", std::string(100'000, 'a'))); // no more than the kernel accepts
    leaves("with more sent ahead than is kept", std::move(stuffed), reset);
    test.release();
  }
  RawClient half = test.client(); // a half-closed client also counts as gone
  half.send(get("/hold"));
  ASSERT_TRUE(soon([&] { return test.held() > 0; }));
  half.endSending();
  ++left;
  EXPECT_TRUE(soon([&] { return test.gone == left; }));
  EXPECT_TRUE(half.sawEnd());
  EXPECT_TRUE(soon([&] { return test.streams() == 0; }));
  EXPECT_TRUE(soon([&] { return test.server->stats().connections == 0; }));
  EXPECT_TRUE(test.server->waitUntilIdle(5s));
  EXPECT_TRUE(test.serves());
}

TEST(HttpDisconnect, IsNoticedInTheMiddleOfAWrite) {
  for (bool reset : {false, true}) {
    TestServer test;
    RawClient client = test.client(4096);
    client.send(get("/flood"));
    ASSERT_TRUE(client.receive(1000));
    std::this_thread::sleep_for(50ms); // until its buffer is full
    client.close(reset);
    EXPECT_TRUE(soon([&] { return test.gone == 1; }));
    EXPECT_TRUE(soon([&] { return test.streams() == 0; }));
  }
}

TEST(HttpDisconnect, ACallbackThatComesLateIsCalledAtOnce) {
  std::shared_ptr<Responder> kept;
  std::atomic<bool> have{false};
  ServerOptions options;
  options.port = 0;
  auto server = Server::create(options, [&](HttpRequest, std::shared_ptr<Responder> responder) {
    kept = std::move(responder);
    have = true;
  });
  ASSERT_TRUE(server);
  (*server)->start();
  {
    RawClient client((*server)->port());
    client.send(get("/"));
    ASSERT_TRUE(soon([&] { return have.load(); }));
  }
  ASSERT_TRUE(soon([&] { return kept->gone(); }));
  std::atomic<int> called{0};
  std::atomic<std::thread::id> there{}, server1{};
  kept->onGone([&] {
    there = std::this_thread::get_id();
    ++called;
  });
  EXPECT_TRUE(soon([&] { return called == 1; }));
  (*server)->post([&] { server1 = std::this_thread::get_id(); });
  EXPECT_TRUE(soon([&] { return server1.load() != std::thread::id(); }));
  EXPECT_EQ(there.load(), server1.load()) << "on the server's thread";
  kept->begin(200, "text/plain");
  kept->write("to nobody");
  kept->finish();
  (*server)->stop();
  kept->onGone([&] { ++called; });
  EXPECT_EQ(called, 2) << "also when there is no such thread any more";
  server = std::unique_ptr<Server>();
  kept->write("still nothing");
  kept.reset();
}

TEST(HttpDisconnect, AReaderThatStopsIsDroppedAndHoldsUpNobody) {
  TestServer test({.sendTimeout = 300ms, .maxBacklogBytes = 64 << 20}, 1ms);
  RawClient stuck = test.client(4096);
  stuck.send(get("/flood"));
  RawClient trickle = test.client(4096); // reading 1 byte per 20 ms is too slow
  trickle.send(get("/flood"));
  std::atomic<bool> ended{false};
  std::thread reader([&] {
    while (!ended) {
      trickle.receive(trickle.received.size() + 1, 20ms);
      std::this_thread::sleep_for(20ms);
    }
  });
  RawClient good = test.client();
  good.send(get("/tokens?200"));
  EXPECT_EQ(good.answer().body, tokens(200));
  EXPECT_TRUE(soon([&] { return test.server->stats().droppedSlow >= 1; }));
  EXPECT_TRUE(stuck.sawEnd());
  ended = true;
  reader.join();
  trickle.close();
  EXPECT_TRUE(soon([&] { return test.streams() == 0 && test.gone == 2; }));
}

TEST(HttpDisconnect, AReaderOfOneByteASecondIsDropped) {
  TestServer test({.sendTimeout = 400ms, .maxBacklogBytes = 64 << 20}, 1ms);
  RawClient client = test.client(4096);
  client.send(get("/flood"));
  char byte;
  const bool dropped = soon([&] {
    (void)!::read(client.descriptor(), &byte, 1);
    std::this_thread::sleep_for(50ms);
    return test.server->stats().droppedSlow == 1;
  });
  EXPECT_TRUE(dropped);
  EXPECT_EQ(test.gone, 1);
}

TEST(HttpDisconnect, AWholeResponseThatIsNotReadIsDropped) {
  TestServer test({.sendTimeout = 200ms});
  RawClient client = test.client(4096);
  client.send(get("/hold"));
  ASSERT_TRUE(soon([&] { return test.held() == 1; }));
  test.release(std::string(8 << 20, 'x'));
  EXPECT_TRUE(soon([&] { return test.server->stats().droppedSlow == 1 && test.gone == 1; }));
}

TEST(HttpDisconnect, ABacklogOverTheLimitIsDropped) {
  TestServer test({.maxBacklogBytes = 1 << 20});
  RawClient client = test.client(4096);
  client.send(get("/flood"));
  EXPECT_TRUE(soon([&] { return test.server->stats().droppedSlow == 1 && test.gone == 1; }));
  // A client that reads receives more than the backlog limit.
  TestServer calm({.maxBacklogBytes = 4 << 20}, 4ms);
  RawClient reader = calm.client();
  reader.send(get("/flood"));
  EXPECT_TRUE(reader.receive(6 << 20));
  EXPECT_EQ(calm.server->stats().droppedSlow, 0u);
}

TEST(HttpDisconnect, Of256Streams64LeaveAndTheRestAreExact) { // uses no engine
  TestServer test({}, 500us);
  constexpr int kStreams = 256, kTokens = 150;
  std::vector<RawClient> clients;
  std::vector<int> order(kStreams);
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(test.client());
    clients.back().send(get("/tokens?" + std::to_string(kTokens)));
    order[static_cast<size_t>(i)] = i;
  }
  std::mt19937 random(7);
  std::shuffle(order.begin(), order.end(), random);
  int left = 0;
  for (int k = 0; k < 64; ++k) {
    RawClient &client = clients[static_cast<size_t>(order[static_cast<size_t>(k)])];
    // The client leaves at a random point in the stream.
    client.receive(random() % 1500, 20ms);
    client.close(k % 2 == 0);
    ++left;
  }
  int exact = 0;
  for (RawClient &client : clients)
    if (client.connected()) {
      Answer answer = client.answer();
      exact += answer.whole && answer.body == tokens(kTokens);
    }
  EXPECT_EQ(exact, kStreams - left);
  EXPECT_TRUE(soon([&] { return test.streams() == 0; }));
  EXPECT_TRUE(test.server->waitUntilIdle(5s));
  EXPECT_TRUE(soon(
      [&] { return test.server->stats().connections == static_cast<size_t>(kStreams - left); }));
  EXPECT_LE(test.gone, left) << "nobody else was told so";
}
