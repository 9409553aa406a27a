// Tests which requests are refused, with which status, and that the server still serves the next one:
// malformed requests, limits, keys, defaults, injection.

#include "TestServer.h"
#include "runtime/server/http/Keys.h"
#include "runtime/server/http/WrongKeys.h"

using namespace ingot::http;
using namespace std::chrono_literals;

namespace {

struct Bad {
  const char *name;
  int status;
  std::string bytes;
};

std::string chunked(std::string_view chunks) {
  return "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
         std::string(chunks);
}

std::vector<Bad> badRequests() {
  using namespace std::string_literals;
  std::string many;
  for (int i = 0; i < 200; ++i)
    many += "a: b\r\n";
  return {
      {"garbage", 400, "\x16\x03\x01\x02\x00\x01\r\n\r\n"s},
      {"no version", 400, "GET /\r\nHost: localhost\r\n\r\n"},
      {"version 2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"version 1.2", 400, "GET / HTTP/1.2\r\nHost: localhost\r\n\r\n"},
      {"two spaces", 400, "GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"no method", 400, " / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"method with a comma", 400, "GE,T / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"bare line feeds", 400, "GET / HTTP/1.1\nHost: localhost\n\n"},
      {"bare carriage return", 400, "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\rc\r\n\r\n"},
      {"NUL in a value", 400, "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\0c\r\n\r\n"s},
      {"control byte in a value", 400, "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\x1b[31m\r\n\r\n"},
      {"folded line", 400, "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n"},
      {"space before the colon", 400,
       "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length : 3\r\n\r\nabc"},
      {"no colon", 400, "GET / HTTP/1.1\r\nHost: localhost\r\nA\r\n\r\n"},
      {"empty name", 400, "GET / HTTP/1.1\r\nHost: localhost\r\n: b\r\n\r\n"},
      {"no host", 400, "GET / HTTP/1.1\r\n\r\n"},
      {"two hosts", 400, "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"},
      {"host with a path", 400, "GET / HTTP/1.1\r\nHost: localhost/x\r\n\r\n"},
      {"host with two ports", 400, "GET / HTTP/1.1\r\nHost: localhost:1:2\r\n\r\n"},
      {"target with a fragment", 400, "GET /a#b HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"target without a slash", 400, "GET a HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"target with a bad escape", 400, "GET /%4 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"target with an escaped NUL", 400, "GET /a%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"target with an escaped newline", 400, "GET /a%0aX:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"target with raw UTF-8", 400, "GET /\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"CONNECT", 400, "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"asterisk for GET", 400, "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"length and coding", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n"},
      {"coding and length", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: "
       "5\r\n\r\n0\r\n\r\n"},
      {"two lengths", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"},
      {"two equal lengths", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"},
      {"a list of lengths", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5, 5\r\n\r\nhello"},
      {"a signed length", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello"},
      {"a negative length", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"},
      {"a length in hex", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x5\r\n\r\nhello"},
      {"an empty length", 400, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n\r\n"},
      {"a length of 2^64", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551616\r\n\r\n"},
      {"a length over the limit", 413,
       "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8388609\r\n\r\n"},
      {"coding gzip", 400, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n"},
      {"coding gzip, chunked", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
      {"coding xchunked", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
      {"coding after a tab", 200,
       "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n"},
      {"two codings", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
       "identity\r\n\r\n0\r\n\r\n"},
      {"coding in HTTP/1.0", 400,
       "POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"chunk of -2", 400, chunked("-2\r\nab\r\n0\r\n\r\n")},
      {"chunk of 0x2", 400, chunked("0x2\r\nab\r\n0\r\n\r\n")},
      {"chunk of nothing", 400, chunked("\r\nab\r\n0\r\n\r\n")},
      {"chunk of 2^64", 400, chunked("10000000000000000\r\nab\r\n0\r\n\r\n")},
      {"chunk of 2^64-1", 413, chunked("ffffffffffffffff\r\nab\r\n0\r\n\r\n")},
      {"chunk over the limit", 413, chunked("800001\r\nab\r\n0\r\n\r\n")},
      {"chunk that is longer than it says", 400, chunked("2\r\nabc\r\n0\r\n\r\n")},
      {"chunk line with a bare line feed", 400, chunked("2\nab\n0\n\n\r\n\r\n")},
      {"endless chunk extension", 431, chunked("2;" + std::string(40'000, 'a'))},
      {"endless trailer", 431, chunked("0\r\n" + std::string(40'000, 'a'))},
      {"length in the trailer", 400, chunked("1\r\na\r\n0\r\nContent-Length: 5\r\n\r\n")},
      {"unknown expectation", 400,
       "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\nContent-Length: 1\r\n\r\na"},
      {"long target", 431,
       "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"long header", 431, get("/", "A: " + std::string(20'000, 'a') + "\r\n")},
      {"header without end", 431, "GET / HTTP/1.1\r\nA: " + std::string(20'000, 'a')},
      {"many fields", 431, get("/", many)},
      {"empty lines without end", 400, "\r\n\r\n\r\n\r\n" + get("/")},
      {"two empty lines", 200, "\r\n\r\n" + get("/")},
  };
}

} // namespace

TEST(HttpRefusal, RefusesEveryMalformedRequestAndCloses) {
  TestServer test;
  uint64_t refusals = 0;
  for (const Bad &bad : badRequests()) {
    SCOPED_TRACE(bad.name);
    RawClient client = test.client();
    client.send(bad.bytes);
    Answer answer = client.answer();
    EXPECT_EQ(answer.status, bad.status) << answer.body;
    if (bad.status == 200)
      continue;
    ++refusals;
    EXPECT_TRUE(answer.whole);
    EXPECT_TRUE(answer.body.starts_with(R"({"error":{"message":")")) << answer.body;
    EXPECT_NE(answer.body.find(R"("type":"invalid_request_error","param":null,"code":")"),
              std::string::npos);
    EXPECT_EQ(answer.header("connection"), "close");
    EXPECT_TRUE(client.sawEnd());
    EXPECT_TRUE(client.received.empty()) << "one request, one answer: " << client.received;
  }
  EXPECT_EQ(test.server->stats().badRequests, refusals);
  EXPECT_TRUE(test.serves());
}

TEST(HttpRefusal, ANewClientSeesNothingOfASmuggledRequest) {
  // A front end that uses the other length would forward the second request as part of the first.
  TestServer test;
  RawClient client = test.client();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: "
              "chunked\r\n\r\n"
              "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.answer().status, 400);
  EXPECT_TRUE(client.sawEnd());
  EXPECT_EQ(test.server->stats().requests, 0u);
}

TEST(HttpRefusal, StopsReadingAHundredMegabytesOfHeader) {
  TestServer test;
  RawClient client = test.client();
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n");
  std::string lines;
  while (lines.size() < (1 << 20))
    lines += "X-Header: 0123456789012345678901234567890123456789\r\n";
  for (int i = 0; i < 100; ++i)
    if (!client.send(lines))
      break;
  EXPECT_EQ(client.answer().status, 431);
  EXPECT_TRUE(test.serves());
}

TEST(HttpRefusal, TheAnswerReachesAClientThatIsStillSending) {
  TestServer test({.maxBodyBytes = 1000});
  RawClient client = test.client();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n");
  ASSERT_TRUE(client.send(std::string(30'000'000, 'a')));
  EXPECT_EQ(client.answer().status, 413);
}

TEST(HttpRefusal, TimesOut) {
  TestServer test({.headerTimeout = 500ms, .bodyTimeout = 500ms, .idleTimeout = 500ms});
  RawClient silent = test.client(), header = test.client(), body = test.client(),
            idle = test.client();
  header.send("GET / HTTP/1.1\r\nHost:");
  body.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf");
  EXPECT_EQ(idle.ask(get("/health")).status, 200);
  EXPECT_EQ(header.answer().status, 408);
  EXPECT_TRUE(header.sawEnd());
  EXPECT_EQ(body.answer().status, 408);
  EXPECT_TRUE(body.sawEnd());
  EXPECT_TRUE(silent.sawEnd());
  EXPECT_TRUE(silent.received.empty()) << "it has asked nothing";
  EXPECT_TRUE(idle.sawEnd());
  EXPECT_TRUE(idle.received.empty());
}

TEST(HttpRefusal, ChecksTheHost) {
  TestServer test({.allowedHosts = {"Name.Example", "other.example:81"}});
  auto status = [&](const std::string &host) {
    return test.client().ask("GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  for (const char *host :
       {"localhost", "LOCALHOST:1234", "127.0.0.1:8000", "127.9.9.9", "[::1]:80",
        "[::ffff:127.0.0.1]", "name.example", "name.example:99", "other.example:81"})
    EXPECT_EQ(status(host), 200) << host;
  for (const char *host :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]",
        "other.example:82", "", "name.example.evil", "0.0.0.0"})
    EXPECT_EQ(status(host), 403) << host;
  // The target's authority counts, not the Host header.
  EXPECT_EQ(test.client()
                .ask("GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .status,
            403);
  EXPECT_EQ(
      test.client().ask("GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n").body,
      "ok");
  EXPECT_EQ(test.client().ask("GET http://localhost?x HTTP/1.1\r\nHost: localhost\r\n\r\n").status,
            200);
}

TEST(HttpRefusal, CorsIsOffUnlessListed) {
  const std::string origin = "Origin: https://page.example\r\n";
  const std::string preflight =
      "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n" + origin +
      "Access-Control-Request-Method: POST\r\n"
      "Access-Control-Request-Headers: authorization, content-type\r\n\r\n";
  {
    TestServer test; // the defaults
    Answer answer = test.client().ask(preflight);
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
    answer = test.client().ask(get("/health", origin));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
    EXPECT_EQ(test.client().ask(post("/echo", "x", origin)).status, 403)
        << "a page could send this unasked";
    EXPECT_EQ(test.client().ask(post("/echo", "x", "Origin: null\r\n")).status, 403);
    EXPECT_EQ(test.client().ask(post("/echo", "x", "Origin: http://localhost\r\n")).status, 200)
        << "our own page";
    EXPECT_EQ(test.client().ask(post("/echo", "x", "Origin: http://localhost:81\r\n")).status, 403);
    EXPECT_EQ(test.client().ask("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200)
        << "the handler's";
    EXPECT_EQ(test.client().ask("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
  }
  TestServer test({.apiKeys = {"sk-right"}, .allowedOrigins = {"https://page.example"}});
  RawClient client = test.client();
  Answer answer = client.ask(preflight);
  EXPECT_EQ(answer.status, 200) << "browsers send no key with this";
  EXPECT_EQ(answer.header("access-control-allow-origin"), "https://page.example");
  EXPECT_EQ(answer.header("access-control-allow-headers"), "authorization, content-type");
  EXPECT_EQ(answer.header("vary"), "Origin");
  answer = client.ask(get("/health", origin));
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.header("access-control-allow-origin"), "https://page.example")
      << "so that the page sees why";
  EXPECT_EQ(client.ask(post("/echo", "x", origin + "Authorization: Bearer sk-right\r\n")).status,
            200);
  answer = client.ask(
      get("/echo", "Origin: https://other.example\r\nAuthorization: Bearer sk-right\r\n"));
  EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
  EXPECT_FALSE(answer.headers.contains("access-control-allow-credentials"));
}

/// "localhost" allows pages of this machine on any port, and no origin that merely resembles it.
TEST(HttpRefusal, OriginsOfThisMachine) {
  TestServer test({.allowedOrigins = {"localhost"}});
  auto answered = [&](const std::string &origin) {
    const Answer answer = test.client().ask(post("/echo", "x", "Origin: " + origin + "\r\n"));
    return answer.status == 200 ? answer.header("access-control-allow-origin") : "refused";
  };
  for (const char *origin :
       {"http://localhost", "http://localhost:5173", "https://localhost:8443",
        "http://127.0.0.1:3000", "http://[::1]", "http://[::1]:3000", "http://127.1.2.3"})
    EXPECT_EQ(answered(origin), origin);
  for (const char *origin :
       {"http://notlocalhost", "http://localhost.evil.com", "http://evil.com", "file://localhost",
        "null", "http://127.0.0.1.evil.com", "http://localhost:x", "http://a@localhost"})
    EXPECT_EQ(answered(origin), "refused") << origin;
}

/// When keys are replaced, the remaining ones keep their numbers, on which caches depend.
TEST(HttpRefusal, KeysAreRenewed) {
  KeyRing ring({"a", "b"});
  EXPECT_EQ(ring.find("b"), 1);
  ring.replace({"b", "c"});
  EXPECT_EQ(ring.find("a"), -1);
  EXPECT_EQ(ring.find("b"), 1);
  EXPECT_EQ(ring.find("c"), 2);
  ring.replace({"a"});
  EXPECT_EQ(ring.find("a"), 3);

  TestServer test({.apiKeys = {"sk-old"}});
  auto status = [&](const char *key) {
    return test.client().ask(get("/health", "x-api-key: " + std::string(key) + "\r\n")).status;
  };
  EXPECT_EQ(status("sk-old"), 200);
  auto wrong = test.server->renew({"sk new"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "E0551");
  ASSERT_TRUE(test.server->renew({"sk-new"}));
  EXPECT_TRUE(soon([&] { return status("sk-new") == 200; }));
  EXPECT_EQ(status("sk-old"), 401);
}

TEST(HttpRefusal, NothingButOpenPathsAnswersWithoutTheKey) {
  TestServer test(
      {.apiKeys = {"sk-first", "sk-second-key"}, .openPaths = {"/health"}, .wrongKeyDelay = 0ms});
  struct Given {
    const char *lines;
    int key; ///< -1 if refused
  };
  const Given cases[] = {
      {"", -1},
      {"Authorization: Bearer sk-first\r\n", 0},
      {"authorization: bearer sk-second-key\r\n", 1},
      {"x-api-key: sk-second-key\r\n", 1},
      {"Authorization: Bearer wrong\r\nx-api-key: sk-first\r\n", 0},
      {"Authorization: Bearer wrong\r\n", -1},
      {"Authorization: Bearer sk-firs\r\n", -1},
      {"Authorization: Bearer sk-firstt\r\n", -1},
      {"Authorization: Bearer sk-second\r\n", -1},
      {"Authorization: Bearer SK-FIRST\r\n", -1},
      {"Authorization: Bearer \r\n", -1},
      {"Authorization: Bearer\r\n", -1},
      {"Authorization: Basic sk-first\r\n", -1},
      {"Authorization: Basic bWU6c2stZmlyc3Q=\r\n", 0},          // me:sk-first
      {"authorization: basic OnNrLXNlY29uZC1rZXk\r\n", 1},       // :sk-second-key, not padded
      {"Authorization: Basic c2stZmlyc3Q6c2stZmlyc3Q6\r\n", -1}, // sk-first:sk-first:
      {"Authorization: Basic c2stZmlyc3Q=\r\n", -1},             // sk-first
      {"Authorization: Basic bWU6\r\n", -1},                     // me:
      {"Authorization: Basic bWU6c2stZmlyc3Q*\r\n", -1},
      {"Authorization: Basic \r\n", -1},
      {"Authorization: sk-first\r\n", -1},
      {"x-api-key:\r\n", -1},
      {"Cookie: key=sk-first\r\n", -1},
  };
  const char *paths[] = {
      "/echo",   "/v1/models",          "/metrics", "/",          "/nothing",  "/hold", "/health/",
      "/Health", "/health%2f..%2fecho", "//health", "/%2fhealth", "/health%20"};
  for (const Given &given : cases)
    for (const char *path : paths)
      for (const char *method : {"GET", "POST", "DELETE", "OPTIONS", "HEAD"}) {
        if (given.key >= 0 && (path == std::string("/hold") || method == std::string("HEAD")))
          continue;
        SCOPED_TRACE(std::string(method) + " " + path + " " + given.lines);
        RawClient client = test.client();
        client.send(std::string(method) + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                    given.lines + "\r\n");
        Answer answer = client.answer(method == std::string("HEAD"));
        ASSERT_EQ(answer.status, given.key < 0 ? 401 : 200);
        if (given.key >= 0)
          ASSERT_NE(answer.body.find("key " + std::to_string(given.key)), std::string::npos)
              << answer.body;
        else
          ASSERT_EQ(answer.header("www-authenticate"), "Bearer");
      }
  EXPECT_EQ(test.client().ask(get("/health")).status, 200);
  EXPECT_EQ(test.client().ask(get("/%68ealth?x")).status, 200)
      << "the same path, spelled otherwise";
  // The request is refused before a byte of the body is read.
  RawClient client = test.client();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n");
  Answer answer = client.answer();
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.body,
            R"({"error":{"message":"No API key was given: send \"Authorization: Bearer KEY\".",)"
            R"("type":"authentication_error","param":null,"code":"invalid_api_key"}})");
}

TEST(HttpRefusal, GuessersWaitEverLonger) {
  using Clock = WrongKeys::Clock;
  WrongKeys guesses(50ms, 2000ms);
  Clock::time_point now = Clock::now();
  std::vector<int64_t> waits;
  for (int i = 0; i < 14; ++i)
    waits.push_back(guesses.note("10.0.0.1", now += 1s).count());
  EXPECT_EQ(waits,
            (std::vector<int64_t>{0, 0, 0, 0, 0, 50, 100, 200, 400, 800, 1600, 2000, 2000, 2000}));
  EXPECT_EQ(guesses.note("10.0.0.2", now), 0ms); // counted per client
  EXPECT_EQ(guesses.note("10.0.0.1", now + 61s), 0ms) << "it is forgotten";
  for (int i = 0; i < 9; ++i) // one network counts as one address
    (void)guesses.note("2001:db8::" + std::to_string(i), now);
  EXPECT_EQ(guesses.note("2001:db8::ffff", now), 800ms);
  EXPECT_EQ(guesses.note("2001:db8:0:1::1", now), 0ms);
  for (int i = 0; i < 5000; ++i)
    (void)guesses.note("10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250), now);
  EXPECT_LE(guesses.addresses(), WrongKeys::kMostAddresses);
  EXPECT_EQ(WrongKeys(0ms, 0ms).note("10.0.0.1", now), 0ms);
}

TEST(HttpRefusal, AGuesserWaitsAndNobodyElse) {
  TestServer test({.apiKeys = {"sk-right"}, .wrongKeyDelay = 400ms, .longestKeyDelay = 400ms});
  const std::string right = "x-api-key: sk-right\r\n", wrong = "x-api-key: sk-wrong\r\n";
  const auto took = [](auto &&work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::steady_clock::now() - begin;
  };
  RawClient guesser = test.client();
  EXPECT_LT(took([&] {
              for (int i = 0; i < WrongKeys::kFree; ++i)
                EXPECT_EQ(guesser.ask(get("/echo", wrong)).status, 401);
            }),
            380ms);
  EXPECT_GE(took([&] { EXPECT_EQ(guesser.ask(get("/echo", wrong)).status, 401); }), 400ms);
  // With many guessers at once, others are still served, and a client that leaves is forgotten.
  std::vector<RawClient> guessers;
  for (int i = 0; i < 20; ++i) {
    guessers.push_back(test.client());
    guessers.back().send(get("/echo", wrong));
  }
  EXPECT_LT(took([&] {
              for (int i = 0; i < 5; ++i) {
                EXPECT_TRUE(test.serves(right));
                EXPECT_EQ(test.client().ask(get("/echo")).status, 401) << "none was given";
              }
            }),
            380ms);
  for (int i = 0; i < 10; ++i)
    guessers.pop_back(); // disconnects
  for (RawClient &one : guessers)
    EXPECT_EQ(one.answer().status, 401);
  // The connection stays open, and requests sent meanwhile are answered.
  guesser.send(get("/echo", wrong) + get("/echo", right));
  EXPECT_EQ(guesser.answer().status, 401);
  EXPECT_EQ(guesser.answer().status, 200);
  guessers.clear();
  EXPECT_TRUE(soon([&] { return test.server->stats().connections <= 1; }));
}

TEST(HttpRefusal, ABrowserIsAskedForTheKeyAndOtherSitesCannotUseIt) {
  TestServer test({.apiKeys = {"sk-first"}, .openPaths = {"/health"}});
  auto ask = [&](const std::string &method, const std::string &lines) {
    RawClient client = test.client();
    return client.ask(method + " /echo HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n");
  };
  const std::string html = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
  const std::string basic = "Authorization: Basic bWU6c2stZmlyc3Q=\r\n";
  const std::string foreign = "Origin: http://evil.example\r\n";
  Answer page = ask("GET", html);
  EXPECT_EQ(page.status, 401);
  EXPECT_TRUE(page.header("www-authenticate").starts_with("Basic realm=")) << page.head;
  EXPECT_EQ(ask("GET", html + basic).status, 200);
  EXPECT_EQ(ask("POST", basic).status, 200);
  EXPECT_EQ(ask("POST", basic + "Origin: http://localhost\r\n").status, 200);
  // A browser adds the password to requests from other sites' pages, but it does not add a key.
  EXPECT_EQ(ask("POST", basic + foreign).status, 403);
  EXPECT_EQ(ask("POST", "Authorization: Bearer sk-first\r\n" + foreign).status, 200);
}

TEST(HttpRefusal, ListensElsewhereOnlyWithAKey) {
  auto code = [](ServerOptions options) {
    auto made = Server::create(options, [](HttpRequest, std::shared_ptr<Responder>) {});
    return made ? std::string("listens") : made.error().code;
  };
  EXPECT_EQ(ServerOptions().host, "127.0.0.1");
  EXPECT_EQ(code({.host = "0.0.0.0", .port = 0}), "E0537");
  EXPECT_EQ(code({.host = "::", .port = 0}), "E0537");
  EXPECT_EQ(code({.host = "192.0.2.1", .port = 0}), "E0537");
  EXPECT_EQ(code({.host = "0.0.0.0", .port = 0, .apiKeys = {""}}), "E0551");
  EXPECT_EQ(code({.host = "0.0.0.0", .port = 0, .apiKeys = {"a\nb"}}), "E0551");
  EXPECT_EQ(code({.host = "0.0.0.0", .port = 0, .apiKeys = {"key"}}), "listens");
  EXPECT_EQ(code({.host = "localhost", .port = 0}), "listens");
  EXPECT_EQ(code({.host = "127.0.0.2", .port = 0}), "listens");
  EXPECT_EQ(code({.host = "192.0.2.1", .port = 0, .apiKeys = {"key"}}), "E0550")
      << "not of this machine";
  EXPECT_EQ(code({.host = "some.name", .port = 0, .apiKeys = {"key"}}), "E0550");
  TestServer test;
  EXPECT_EQ(code({.port = test.port()}), "E0550") << "in use";
  TestServer open({.host = "0.0.0.0", .apiKeys = {"key"}});
  EXPECT_EQ(
      open.client().ask("GET /echo HTTP/1.1\r\nHost: any.name\r\nx-api-key: key\r\n\r\n").status,
      200);
}

TEST(HttpRefusal, NothingIsInjectedIntoHeaders) {
  TestServer test;
  RawClient client = test.client();
  for (std::string id :
       {std::string(129, 'a'), std::string("two words"), std::string("\xc3\xa9"), std::string()}) {
    Answer answer = client.ask(get("/echo", "X-Request-Id: " + id + "\r\n"));
    EXPECT_TRUE(answer.header("x-request-id").starts_with("req-")) << id;
    EXPECT_NE(answer.body.find("\nid req-"), std::string::npos) << "the handler sees the clean one";
  }
  EXPECT_EQ(client.ask(get("/echo", "X-Request-Id: " + std::string(128, 'a') + "\r\n"))
                .header("x-request-id"),
            std::string(128, 'a'));
  EXPECT_EQ(client.ask(get("/echo", "X-Request-Id: a\x1b[31mb\r\n")).status, 400);

  RawClient other = test.client();
  Answer answer = other.ask(get("/inject")); // values that a handler passes on are not trusted
  EXPECT_EQ(answer.header("x-fine"), "a  X-Evil: 1");
  EXPECT_FALSE(answer.headers.contains("x-evil")) << answer.head;
  EXPECT_FALSE(answer.headers.contains("x-type")) << answer.head;
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(errorBody("a\"\\\n\x1b\x7f", "t", "p", ""),
            R"({"error":{"message":"a\"\\\n\u001b\u007f","type":"t","param":"p","code":null}})");
}
