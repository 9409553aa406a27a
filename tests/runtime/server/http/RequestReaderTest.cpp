// Tests the parser and its rules without sockets, and the comparison of keys.

#include "runtime/server/http/RequestReader.h"
#include "RawClient.h"
#include "runtime/server/http/HeaderRules.h"
#include "runtime/server/http/Keys.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace ingot::http;

namespace {

/// Returns the requests read from `bytes`, fed in pieces that end at `cuts`; "!STATUS" for a refusal.
std::string readAll(const std::string &bytes, const std::vector<size_t> &cuts) {
  RequestReader reader(1024, 4096);
  std::string held, result;
  size_t at = 0;
  auto step = [&] {
    for (;;) {
      const ReadState before = reader.state();
      const size_t taken = reader.read(held);
      held.erase(0, taken);
      if (reader.state() == ReadState::Examine) {
        reader.acceptBody();
      } else if (reader.state() == ReadState::Done) {
        const RequestHead &head = reader.head();
        result += head.method + head.path + "?" + head.query + (head.keepAlive ? "k" : "c") +
                  std::to_string(head.headers.size()) + "[" + reader.body() + "]";
        reader.reset();
      } else if (reader.state() == ReadState::Refused) {
        result += "!" + std::to_string(reader.refusal().status) + reader.refusal().message;
        return false;
      }
      if (!taken && reader.state() == before)
        return true;
    }
  };
  for (size_t cut : cuts) {
    held += bytes.substr(at, cut - at);
    at = cut;
    if (!step())
      return result;
  }
  return result + "+" + std::to_string(held.size());
}

} // namespace

TEST(HttpRequestReader, ReadsTheSameWhereverItIsCut) {
  const std::string cases[] = {
      get("/a%20?q") + post("/b", "body") + "\r\n" + get("/c", "Connection: close\r\n"),
      "POST /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n"
      "00\r\nT: u\r\n\r\n" +
          get("/e"),
      "GET /f HTTP/1.0\r\n\r\nGET /g HTTP/1.1\r\nHost: h\r\nA: b\n\r\n",
      "POST /h HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nab\r\n0\r\n\r\n",
  };
  const char *expected[] = {
      "GET/a ?qk1[]POST/b?k2[body]GET/c?c2[]+0", "POST/d?k2[abc0123456789]GET/e?k1[]+0",
      "GET/f?c0[]!400the request is malformed: a line ends without a carriage return",
      "!400the request is malformed: bad chunk"};
  for (size_t i = 0; i < std::size(cases); ++i) {
    const std::string &bytes = cases[i];
    std::vector<size_t> every;
    for (size_t k = 1; k <= bytes.size(); ++k)
      every.push_back(k);
    EXPECT_EQ(readAll(bytes, {bytes.size()}), expected[i]);
    EXPECT_EQ(readAll(bytes, every), expected[i]) << "byte by byte";
    for (size_t cut = 1; cut < bytes.size(); ++cut)
      EXPECT_EQ(readAll(bytes, {cut, bytes.size()}), expected[i]) << "cut at " << cut;
  }
}

TEST(HttpRequestReader, LimitsAreExact) {
  auto withHeaderOf = [](size_t bytes) {
    std::string text = get("/", "A: \r\n");
    text.insert(text.find("A: ") + 3, std::string(bytes - text.size(), 'a'));
    return readAll(text, {text.size()});
  };
  EXPECT_EQ(withHeaderOf(1024)[0], 'G');
  EXPECT_EQ(withHeaderOf(1029).substr(0, 4), "!431");
  auto withBodyOf = [](size_t bytes) {
    std::string text = post("/", std::string(bytes, 'b'));
    return readAll(text, {text.size()});
  };
  EXPECT_EQ(withBodyOf(4096)[0], 'P');
  EXPECT_EQ(withBodyOf(4097).substr(0, 4), "!413");
  // The sizes of chunks are added up.
  std::string text = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 5; ++i)
    text += "400\r\n" + std::string(1024, 'c') + "\r\n";
  EXPECT_EQ(readAll(text, {text.size()}).substr(0, 4), "!413");
}

TEST(HttpHeaderRules, Targets) {
  EXPECT_EQ(parseTarget("/a%2Fb+c?d%20e")->path, "/a/b+c");
  EXPECT_EQ(parseTarget("/a?b?c")->query, "b?c");
  EXPECT_EQ(parseTarget("HTTP://h:80/x")->authority, "h:80");
  EXPECT_EQ(parseTarget("*")->path, "*");
  for (const char *bad : {"", "a", "/%", "/%4", "/%zz", "/%0d", "/%7f", "/a b", "/\x80", "/#",
                          "http://a b/", "ftp://h/", "http://u@h/", "?"})
    EXPECT_FALSE(parseTarget(bad)) << bad;
}

TEST(HttpKeys, FindsExactlyTheKeys) {
  KeyRing ring({"one", "two",
                "a much longer key with more than sixty-four bytes, as some services have them"});
  EXPECT_EQ(ring.find("one"), 0);
  EXPECT_EQ(ring.find("two"), 1);
  EXPECT_EQ(
      ring.find("a much longer key with more than sixty-four bytes, as some services have them"),
      2);
  for (const char *wrong : {"", "on", "onee", "One", "tw", "a much longer key"})
    EXPECT_EQ(ring.find(wrong), -1) << wrong;
  int found = 0;
  for (int i = 0; i < 2000; ++i)
    found += ring.find("one" + std::to_string(i)) >= 0;
  EXPECT_EQ(found, 0);
  EXPECT_TRUE(KeyRing({}).empty());
}

// Compares the times of 10^5 comparisons with a key that is wrong from its first byte and with one
// that is wrong in its last byte. Uses Welch's t over interleaved batches; |t| < 2.58 means p > 0.01.
// Takes the best of three, since the machine runs other work.
TEST(HttpKeys, DISABLED_TakeTheSameTimeForEveryWrongKey) {
  const std::string right = "sk-0123456789abcdef0123456789abcdef";
  KeyRing ring({right});
  std::string early = right, late = right;
  early[0] = 'X';
  late.back() = 'X';
  double best = 1e9;
  for (int attempt = 0; attempt < 3 && best > 2.58; ++attempt) {
    std::vector<double> times[2];
    std::mt19937 random(static_cast<uint32_t>(attempt));
    int sink = 0;
    for (int i = 0; i < 100'000; ++i) {
      const size_t which = random() % 2;
      const std::string &key = which ? late : early;
      const auto start = std::chrono::steady_clock::now();
      sink += ring.find(key);
      times[which].push_back(
          std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
              .count());
    }
    EXPECT_EQ(sink, -100'000);
    double mean[2], variance[2];
    for (int k : {0, 1}) {
      auto &t = times[k];
      std::sort(t.begin(), t.end());
      t.resize(t.size() * 9 / 10); // drop outliers from interrupts
      mean[k] = variance[k] = 0;
      for (double x : t)
        mean[k] += x / static_cast<double>(t.size());
      for (double x : t)
        variance[k] += (x - mean[k]) * (x - mean[k]) / static_cast<double>(t.size() - 1) /
                       static_cast<double>(t.size());
    }
    best = std::min(best, std::abs(mean[0] - mean[1]) / std::sqrt(variance[0] + variance[1]));
    std::printf("wrong at once %.1f ns, wrong at the end %.1f ns\n", mean[0], mean[1]);
  }
  EXPECT_LT(best, 2.58);
}
