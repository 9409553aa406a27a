//===- ParserTest.cpp - Responses and event streams, split anywhere ----------===//
#include "runtime/server/http/client/Client.h"
#include "runtime/server/http/client/EventStream.h"
#include "runtime/server/http/client/ResponseParser.h"

#include <gtest/gtest.h>

using namespace ingot::http;

namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

/// Returns the events of a text that arrives in pieces of `size` bytes.
Events eventsOf(std::string_view text, size_t size) {
  EventStream stream;
  Events events;
  for (size_t at = 0; at < text.size(); at += size)
    EXPECT_TRUE(
        stream.put(text.substr(at, size), [&](std::string_view name, std::string_view data) {
          events.emplace_back(name, data);
        }));
  return events;
}

TEST(EventStream, followsTheStandardWhereverItIsCut) {
  const std::string text = "\xEF\xBB\xBF: a comment\n"
                           "data: one\n\n"
                           "event: add\r\ndata:two\r\ndata:  three\r\n\r\n"
                           "data\rid: 7\rretry: 9\r\r"
                           "event: alone\n\n"
                           "data: {\"a\":\":\"}\nother: x\n\n"
                           "data: never ended\n";
  const Events expected{{"", "one"}, {"add", "two\n three"}, {"", ""}, {"", "{\"a\":\":\"}"}};
  for (size_t size = 1; size <= text.size(); ++size)
    EXPECT_EQ(eventsOf(text, size), expected) << "in pieces of " << size;
}

TEST(EventStream, refusesAnEndlessEvent) {
  EventStream stream;
  const std::string piece(1 << 20, 'x');
  bool fine = true;
  for (int i = 0; i < 17 && fine; ++i)
    fine = stream.put(piece, [](std::string_view, std::string_view) {});
  EXPECT_FALSE(fine);
}

struct Parsed {
  std::string body, wrong;
  int status = 0;
  bool done = false, keeps = false, untilClose = false;
};

Parsed parse(std::string_view text, size_t size, bool toHead = false) {
  ResponseParser parser(toHead);
  Parsed out;
  for (size_t at = 0; at < text.size() && out.wrong.empty(); at += size)
    out.wrong = parser.put(text.substr(at, size), [&](std::string_view data) { out.body += data; });
  out.status = parser.status();
  out.done = parser.done();
  out.keeps = parser.keepsConnection();
  out.untilClose = parser.endsWithConnection();
  return out;
}

TEST(ResponseParser, takesChunksWhereverTheyAreCut) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nContent-Type: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\nA;ext=1\r\n, world!\r\n\r\n0\r\nTrailer: t\r\n\r\n";
  for (size_t size = 1; size <= text.size(); ++size) {
    const Parsed parsed = parse(text, size);
    EXPECT_EQ(parsed.wrong, "") << size;
    EXPECT_EQ(parsed.body, "hello, world!\r\n") << size;
    EXPECT_TRUE(parsed.done && parsed.keeps) << size;
  }
}

TEST(ResponseParser, takesLengthsAndTheEndOfAConnection) {
  const std::string sized = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nconnection: "
                            "Close\r\ncontent-length: 3\r\n\r\nabc";
  for (size_t size = 1; size <= sized.size(); ++size) {
    const Parsed parsed = parse(sized, size);
    EXPECT_EQ(parsed.status, 404);
    EXPECT_EQ(parsed.body, "abc");
    EXPECT_TRUE(parsed.done);
    EXPECT_FALSE(parsed.keeps);
  }
  const Parsed open = parse("HTTP/1.0 200 OK\n\nto the end", 4);
  EXPECT_TRUE(open.untilClose && !open.done);
  EXPECT_EQ(open.body, "to the end");
  EXPECT_TRUE(parse("HTTP/1.1 204 No Content\r\n\r\n", 5).done);
  EXPECT_TRUE(parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 5, true).done);
}

TEST(ResponseParser, refusesWhatIsNoResponse) {
  for (const char *text : {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
                           "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab"})
    for (size_t size : {size_t(1), size_t(7), size_t(500)})
      EXPECT_NE(parse(text, size).wrong, "") << text << " in pieces of " << size;
  const std::string endless = "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x');
  EXPECT_NE(parse(endless, 1000).wrong, "");
}

TEST(ServerUrl, isReadOrRefused) {
  auto url = parseUrl("http://localhost:8000/v1/");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "localhost");
  EXPECT_EQ(url->port, 8000);
  EXPECT_EQ(url->path, "/v1");
  EXPECT_EQ(parseUrl("[::1]:9")->host, "::1");
  EXPECT_EQ(parseUrl("example.org")->port, 80);
  for (const char *bad : {"", "http://", "https://a", "ftp://a", "a:0", "a:65536", "a:1x", "a b",
                          "[::1", "[::1]x", "http://a/\r\nX: y"})
    EXPECT_FALSE(parseUrl(bad)) << bad;
}

} // namespace
