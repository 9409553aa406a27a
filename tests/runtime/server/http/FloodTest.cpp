// Tests overload: mutated requests, slow, idle and pipelining clients, and exhausted descriptors. A
// well-behaved client is served during and after each.

#include "TestServer.h"
#include "tests/Sanitizers.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace ingot::http;
using namespace std::chrono_literals;

/// Returns the bytes of resident memory. Returns 0 under a sanitizer, which keeps freed memory and makes
/// the figure meaningless.
static long residentBytes() {
#if INGOT_SANITIZED
  return 0;
#else
  long pages = 0, resident = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    (void)!std::fscanf(file, "%ld %ld", &pages, &resident);
    std::fclose(file);
  }
  return resident * ::sysconf(_SC_PAGESIZE);
#endif
}

namespace {

/// Changes the descriptor limit, as far as the system allows, until the end of the scope.
class DescriptorLimit {
public:
  explicit DescriptorLimit(rlim_t wanted) {
    getrlimit(RLIMIT_NOFILE, &before);
    rlimit limit = before;
    limit.rlim_cur = std::min(wanted, before.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before); }
  DescriptorLimit(const DescriptorLimit &) = delete;
  size_t now() const {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }

private:
  rlimit before{};
};

/// Produces nearly valid requests: seeds with bytes flipped, cut or doubled, or with parts of other
/// seeds inserted.
class Mutator {
public:
  explicit Mutator(uint32_t seed) : random(seed) {}

  std::string next() {
    std::string text = pick(seeds);
    for (int i = below(6); i >= 0; --i)
      mutate(text);
    return text;
  }
  int below(int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }

private:
  const std::string &pick(const std::vector<std::string> &from) {
    return from[static_cast<size_t>(below(static_cast<int>(from.size())))];
  }
  void mutate(std::string &text) {
    if (text.empty())
      return;
    const auto at = static_cast<size_t>(below(static_cast<int>(text.size())));
    switch (below(8)) {
    case 0:
      text[at] = static_cast<char>(below(256));
      break;
    case 1:
      text.erase(at, static_cast<size_t>(1 + below(20)));
      break;
    case 2:
      text.insert(at, pick(pieces));
      break;
    case 3:
      text.insert(at, text.substr(at, static_cast<size_t>(below(200))));
      break;
    case 4:
      text.resize(at);
      break;
    case 5:
      text.insert(at, static_cast<size_t>(below(below(20) ? 50 : 20'000)), pick(pieces)[0]);
      break;
    case 6:
      text += pick(seeds);
      break;
    default:
      if (const size_t line = text.find("\r\n", at); line != std::string::npos)
        text.insert(line + 2, pick(lines));
    }
  }

  std::mt19937 random;
  const std::vector<std::string> seeds = {
      get("/health"),
      get("/echo?x=1", "X-Request-Id: a\r\nAccept: */*\r\n"),
      post("/echo", R"({"model":"m","messages":[{"role":"user","content":"hi"}]})",
           "Content-Type: application/json\r\nAuthorization: Bearer sk-1\r\n"),
      get("/tokens?3"),
      "GET /never HTTP/1.0\r\n\r\n",
      "HEAD /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: "
      "http://a\r\nAccess-Control-Request-Method: GET\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n4\r\nabcd\r\na;x=\"y\"\r\n0123456789\r\n"
      "0\r\nT: u\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: "
      "3\r\n\r\nabc",
      get("/break"),
  };
  const std::vector<std::string> pieces = {
      "\r\n",    "\r", "\n", "\0",  "\r\n\r\n",         "%",        "%00", ":",
      " ",       "\t", "-2", "0x",  "ffffffffffffffff", "HTTP/1.1", "/",   "\xff",
      "chunked", ",",  ";",  "\x1b"};
  const std::vector<std::string> lines = {"Content-Length: 5\r\n",
                                          "Content-Length: -1\r\n",
                                          "Content-Length: 99999999999\r\n",
                                          "Transfer-Encoding: chunked\r\n",
                                          "Transfer-Encoding: gzip\r\n",
                                          "Host: localhost\r\n",
                                          "Connection: close\r\n",
                                          "Connection: keep-alive, upgrade\r\n",
                                          "Upgrade: h2c\r\n",
                                          "Expect: 100-continue\r\n",
                                          " folded\r\n"};
};

/// Sends `count` mutated requests, one to three per connection. Then disconnects, either by RST in
/// mid-exchange or after reading the server's answers.
void sendMutated(const TestServer &test, int count, uint32_t seed) {
  Mutator mutator(seed);
  for (int i = 0; i < count; ++i) {
    RawClient client = test.client();
    ASSERT_TRUE(client.connected()) << i;
    for (int more = mutator.below(3); more >= 0 && i < count; --more, ++i)
      if (!client.send(mutator.next()))
        break;
    if (mutator.below(4) == 0) {
      client.receive(1, std::chrono::milliseconds(mutator.below(2)));
      client.close(true);
    } else {
      client.endSending();
      ASSERT_TRUE(client.sawEnd()) << i << ": who has left is let go";
    }
  }
}

void surviveMutated(int count) {
  TestServer test({.headerTimeout = 2s, .bodyTimeout = 2s, .sendTimeout = 2s, .idleTimeout = 2s},
                  100us);
  sendMutated(test, 2000, 1); // warms up the allocator
  ASSERT_TRUE(soon([&] { return test.server->stats().connections == 0; }));
  const long before = residentBytes();
  sendMutated(test, count, 2);
  ASSERT_TRUE(soon([&] { return test.server->stats().connections == 0; }));
  EXPECT_TRUE(test.server->waitUntilIdle(5s));
  const long grown = residentBytes() - before;
  EXPECT_LT(grown, 5 << 20);
  const ServerStats stats = test.server->stats();
  EXPECT_GT(stats.requests, static_cast<uint64_t>(count) / 20)
      << "some must get through, else nothing is tested";
  EXPECT_GT(stats.badRequests, static_cast<uint64_t>(count) / 20);
  std::printf("%d mutated: %llu served, %llu refused, %ld KiB more memory\n", count,
              static_cast<unsigned long long>(stats.requests),
              static_cast<unsigned long long>(stats.badRequests), grown >> 10);
  EXPECT_TRUE(test.serves());
}

} // namespace

TEST(HttpFlood, SurvivesMutatedRequests) { surviveMutated(5000); }
TEST(HttpFlood, DISABLED_SurvivesAHundredThousandMutatedRequests) { surviveMutated(100'000); }

TEST(HttpFlood, AGoodClientIsServedBesideSlowloris) {
  TestServer test({.maxConnections = 256, .headerTimeout = 3s});
  std::vector<RawClient> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(test.client());
    slow.back().send("GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
  }
  for (int round = 0; round < 20; ++round) {
    for (RawClient &client : slow)
      client.send("a");
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(test.serves());
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1s); // under 1 ms when measured
  }
  for (RawClient &client : slow)
    EXPECT_EQ(client.answer().status, 408);
}

TEST(HttpFlood, IdleConnectionsAreClosedForNewcomers) {
  DescriptorLimit limit(20'200); // or the system limit; both ends are in this process
  const size_t many = (limit.now() - 200) / 2, most = std::min<size_t>(1024, many / 4);
  TestServer test({.maxConnections = most, .headerTimeout = 60s}); // no connection times out
  RawClient early = test.client(); // asks repeatedly, so it is never the longest idle
  std::vector<RawClient> idle;
  size_t unanswered = 0;
  for (size_t i = 0; i < many; ++i) {
    idle.push_back(test.client());
    if (!idle.back().connected())
      break;
    if (i % 500 == 0)
      unanswered += early.ask(get("/health")).status != 200;
  }
  EXPECT_EQ(idle.size(), many);
  EXPECT_EQ(unanswered, 0u);
  // After a second, the existing connections count as idle, and a new client replaces one of them.
  EXPECT_TRUE(soon([&] { return test.serves(); }));
  EXPECT_LE(test.server->stats().connections, most + ServerOptions().maxRefusing);
  EXPECT_EQ(early.ask(get("/health")).status, 200);
}

TEST(HttpFlood, RefusesConnectionsOverTheLimit) {
  TestServer test({.maxConnections = 8});
  std::vector<RawClient> busy;
  for (int i = 0; i < 8; ++i) {
    busy.push_back(test.client());
    busy.back().send(get("/hold"));
  }
  ASSERT_TRUE(soon([&] { return test.held() == 8; }));
  for (int i = 0; i < 3; ++i) {
    RawClient more = test.client();
    Answer answer = more.ask(get("/health"));
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("retry-after"), "1");
    EXPECT_NE(answer.body.find(R"("code":"overloaded")"), std::string::npos);
    EXPECT_TRUE(more.sawEnd());
  }
  EXPECT_EQ(test.server->stats().refused, 3u);
  RawClient told = test.client(); // refused but still connected: the next client has no place
  EXPECT_EQ(told.answer().status, 503);
  std::this_thread::sleep_for(1100ms);
  EXPECT_EQ(test.client().ask(get("/health")).status, 503);
  test.release();
  for (RawClient &client : busy)
    EXPECT_EQ(client.answer().body, "released");
  busy.clear();
  EXPECT_TRUE(soon([&] { return test.serves(); }));
}

TEST(HttpFlood, PostsOverTheLimitAreToldSo) {
  DescriptorLimit limit(4096);
  const size_t many = std::min<size_t>(400, limit.now() / 2 - 64);
  TestServer test({.maxConnections = 4});
  std::vector<RawClient> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(test.client());
    busy.back().send(get("/hold"));
  }
  ASSERT_TRUE(soon([&] { return test.held() == 4; }));
  std::vector<RawClient> more;
  const std::string request = post("/echo", std::string(20'000, 'x'));
  for (size_t i = 0; i < many; ++i) {
    more.push_back(test.client());
    more.back().send(request);
  }
  size_t told = 0;
  for (RawClient &client : more)
    told += client.answer().status == 503;
  EXPECT_EQ(told, many);
  test.release();
}

TEST(HttpFlood, BodiesTogetherAreLimited) {
  TestServer test({.maxBodyBytes = 10'000});
  std::vector<RawClient> large;
  for (int i = 0; i < 32; ++i) {
    large.push_back(test.client());
    large.back().send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n");
  }
  EXPECT_TRUE(soon([&] { return test.client().ask(post("/echo", "one more")).status == 503; }));
  for (RawClient &client : large)
    client.send(std::string(10'000, 'b'));
  for (RawClient &client : large)
    EXPECT_EQ(client.answer().status, 200);
  EXPECT_TRUE(test.serves());
}

TEST(HttpFlood, LivesWithoutDescriptors) {
  TestServer test({.maxConnections = 100'000});
  DescriptorLimit limit(200);
  RawClient early = test.client();
  early.send(get("/hold"));
  ASSERT_TRUE(soon([&] { return test.held() == 1; }));
  std::vector<int> taken;
  // Both ends share this descriptor table. Fill all but one entry, so that the client gets its
  // descriptor and the server gets none.
  for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
    taken.push_back(fd);
  ::close(taken.back());
  taken.pop_back();
  {
    RawClient turnedAway = test.client();
    ASSERT_TRUE(turnedAway.connected());
    timespec before{}, after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    test.release();
    EXPECT_EQ(early.answer().status, 200) << "who is in is served";
    EXPECT_TRUE(turnedAway.sawEnd()) << "and who is not need not wait";
    std::this_thread::sleep_for(200ms);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double seconds = static_cast<double>(after.tv_sec - before.tv_sec) +
                           static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
    EXPECT_LT(seconds, 0.15) << "it must not spin";
  }
  for (int fd : taken)
    ::close(fd);
  EXPECT_TRUE(soon([&] { return test.serves(); }));
}

TEST(HttpFlood, PipelinesAreReadNoFurtherThanNeeded) {
  TestServer test;
  RawClient client = test.client();
  std::string ten;
  for (int i = 0; i < 10; ++i)
    ten += get("/hold");
  client.send(ten);
  ASSERT_TRUE(soon([&] { return test.held() == 1; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(test.held(), 1u) << "the second comes when the first is out";
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(soon([&] { return test.held() == 1; }));
    test.release();
    EXPECT_EQ(client.answer().body, "released");
  }
  std::string thousands;
  for (int i = 0; i < 5000; ++i)
    thousands += i % 2 ? get("/health") : get("/never");
  std::thread sender([&] { client.send(thousands); });
  for (int i = 0; i < 5000; ++i)
    ASSERT_EQ(client.answer().status, i % 2 ? 200 : 500) << i;
  sender.join();
}
