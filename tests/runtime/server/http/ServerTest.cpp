// Tests the server with a well-behaved client: methods, versions, bodies, streams, keep-alive, pipelining.

#include "TestServer.h"

using namespace ingot::http;
using namespace std::chrono_literals;

static bool has(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(HttpServer, HandsOverWhatArrived) {
  TestServer test;
  RawClient client = test.client();
  Answer answer = client.ask(
      "POST /a%20b/%C3%A9?x=%20&y=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
      "X-Request-Id: my-id.7\r\nX-Many: 1\r\nx-many:  2 \r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body,
            "POST /a b/\xc3\xa9\nquery x=%20&y=1\nid my-id.7\nclient 127.0.0.1\nkey -1\n"
            "host: 127.0.0.1:80\nx-request-id: my-id.7\nx-many: 1\nx-many: 2\ncontent-length: 5\n"
            "\nhello");
  EXPECT_EQ(answer.header("x-request-id"), "my-id.7");
  EXPECT_EQ(answer.header("content-type"), "text/plain");
  EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.header("date").size(), 29u) << answer.header("date");
  EXPECT_FALSE(answer.headers.contains("connection"));
  EXPECT_FALSE(answer.headers.contains("access-control-allow-origin"));
}

TEST(HttpServer, KeepsAConnectionAndGivesEachRequestAnId) {
  TestServer test;
  RawClient client = test.client();
  const std::string first = client.ask(get("/health")).header("x-request-id");
  const std::string second = client.ask(get("/health")).header("x-request-id");
  EXPECT_TRUE(first.starts_with("req-")) << first;
  EXPECT_NE(first, second);
  EXPECT_EQ(test.server->stats().accepted, 1u);
  EXPECT_EQ(test.server->stats().requests, 2u);
  Answer last = client.ask(get("/health", "Connection: close\r\n"));
  EXPECT_EQ(last.header("connection"), "close");
  EXPECT_TRUE(client.sawEnd());
}

TEST(HttpServer, ReadsBodiesInAnyPieces) {
  TestServer test;
  RawClient client = test.client();
  for (char c :
       std::string("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "5;a=b\r\nhello\r\n1\r\n,\r\n06\r\n world\r\n0\r\nConnection: "
                   "close\r\nX-Trailer: 1\r\n\r\n"))
    client.send({&c, 1});
  Answer answer = client.answer();
  EXPECT_TRUE(answer.body.ends_with("\n\nhello, world")) << answer.body;
  EXPECT_FALSE(has(answer.body, "x-trailer"));
  EXPECT_FALSE(answer.headers.contains("connection")) << "a trailer must not change the request";

  std::string large(8 << 20, 'b');
  large[12345] = 'c';
  answer = client.ask(post("/echo", large));
  EXPECT_TRUE(answer.body.ends_with("\n\n" + large)) << answer.status;
}

TEST(HttpServer, AnswersHeadWithoutABody) {
  TestServer test;
  RawClient client = test.client();
  client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Answer answer = client.answer(true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-length"), "2");
  client.send("HEAD /tokens?3 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.answer(true).status, 200);
  client.send("HEAD /echo HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(client.answer(true).status, 403);
  EXPECT_EQ(client.ask(get("/health")).body, "ok") << "no byte of a body may stand before this";
}

TEST(HttpServer, SpeaksHttp10) {
  TestServer test;
  RawClient plain = test.client();
  Answer answer = plain.ask("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(plain.sawEnd());

  RawClient kept = test.client();
  EXPECT_EQ(kept.ask("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").header("connection"),
            "keep-alive");
  answer = kept.ask("GET /tokens?3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(answer.body, tokens(3)) << "not chunked: ends with the connection";
  EXPECT_FALSE(answer.headers.contains("transfer-encoding"));
}

TEST(HttpServer, AsksForABodyThatIsAnnounced) {
  TestServer test;
  RawClient client = test.client();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: "
              "100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 100);
  client.send("body");
  EXPECT_TRUE(client.answer().body.ends_with("\nbody"));
  // The request is refused by its header: the final response comes instead of "100 Continue".
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\nExpect: "
              "100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 413);
  RawClient hasty = test.client();
  EXPECT_EQ(hasty.ask(post("/echo", "body", "Expect: 100-continue\r\n")).status, 200)
      << "it is here already";
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  TestServer test;
  RawClient client = test.client();
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += i % 3 == 0   ? get("/tokens?" + std::to_string(i % 5 + 1))
           : i % 3 == 1 ? post("/echo", "number " + std::to_string(i))
                        : get("/hold");
  std::thread releaser([&] {
    for (int released = 0; released < 16; ++released) {
      ASSERT_TRUE(soon([&] { return test.held() == 1; }));
      test.release(std::to_string(released));
    }
  });
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    Answer answer = client.answer();
    ASSERT_TRUE(answer.whole) << i;
    if (i % 3 == 0)
      EXPECT_EQ(answer.body, tokens(i % 5 + 1)) << i;
    else if (i % 3 == 1)
      EXPECT_TRUE(answer.body.ends_with("\nnumber " + std::to_string(i))) << i;
    else
      EXPECT_EQ(answer.body, std::to_string(i / 3)) << i;
  }
  releaser.join();
  EXPECT_TRUE(client.received.empty());
  EXPECT_EQ(test.gone, 0);
}

TEST(HttpServer, StreamsAsItIsWritten) {
  TestServer test;
  RawClient client = test.client();
  client.send(get("/begin"));
  ASSERT_TRUE(client.receiveUntil("\r\n\r\n")) << "the head comes at once";
  EXPECT_TRUE(has(client.received, "Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(has(client.received, "Cache-Control: no-cache\r\n"));
  EXPECT_FALSE(client.sawEnd(50ms)) << "and the stream stays open";
}

TEST(HttpServer, KeepsSilentStreamsAliveWithPings) {
  TestServer test({.pingInterval = 50ms});
  RawClient client = test.client();
  client.send(get("/begin"));
  EXPECT_TRUE(client.receiveUntil("8\r\n: ping\n\n\r\n8\r\n: ping\n\n\r\n"));
  RawClient half = test.client();
  half.send(get("/half"));
  EXPECT_TRUE(half.receiveUntil("data: ha\r\n"));
  half.received.clear();
  EXPECT_FALSE(half.receive(1, 200ms)) << "a ping would be a part of the event";
  RawClient plain = test.client();
  plain.send(get("/hold"));
  EXPECT_FALSE(plain.receive(1, 200ms)) << "only event streams have pings";
}

TEST(HttpServer, AnswersFor500) {
  TestServer test;
  RawClient client = test.client();
  for (const char *path : {"/never", "/throw"}) {
    Answer answer = client.ask(get(path));
    EXPECT_EQ(answer.status, 500) << path;
    EXPECT_EQ(answer.body, R"({"error":{"message":"the service did not answer this request",)"
                           R"("type":"server_error","param":null,"code":"no_answer"}})");
  }
  Answer broken = client.ask(get("/break"));
  EXPECT_EQ(broken.status, 200);
  EXPECT_FALSE(broken.whole) << "a stream that broke off must not look complete";
  EXPECT_EQ(test.gone, 0);
}

TEST(HttpServer, ServesManyAtOnce) {
  TestServer test;
  std::vector<RawClient> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(test.client());
    clients.back().send(get("/tokens?" + std::to_string(20 + i)));
  }
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(clients[static_cast<size_t>(i)].answer().body, tokens(20 + i));
  EXPECT_EQ(test.server->stats().connections, 64u);
}

TEST(HttpServer, RunsPostedWorkOnItsThread) {
  TestServer test;
  std::atomic<std::thread::id> first{}, second{};
  test.server->post([&] { first = std::this_thread::get_id(); });
  test.server->post([] { throw 1; });
  test.server->post([&] { second = std::this_thread::get_id(); });
  EXPECT_TRUE(soon([&] { return second.load() != std::thread::id(); }));
  EXPECT_EQ(first.load(), second.load());
  EXPECT_TRUE(test.serves());
}
