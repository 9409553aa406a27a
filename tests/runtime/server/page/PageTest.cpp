//===- PageTest.cpp - Which response each request gets ----------------------===//
//
// Uses its own assets, since a build without node has none of the page's. The page itself is tested in
// a browser (tests/e2e/page.py).
//===----------------------------------------------------------------------===//
#include "runtime/server/page/Page.h"

#include <gtest/gtest.h>

namespace ingot::page {

namespace {

constexpr Asset kAssets[] = {
    {"/", "text/html; charset=utf-8", "abc", false, "plain html", "gzip html"},
    {"/assets/x-1.js", "text/javascript; charset=utf-8", "def", true, "plain js", "gzip js"},
};

struct Sent final : http::Responder {
  int status = 0;
  std::string type, body;
  http::Headers headers;

  void send(int code, std::string_view contentType, std::string text, http::Headers more) override {
    status = code;
    type = contentType;
    body = std::move(text);
    headers = std::move(more);
  }
  void begin(int, std::string_view, http::Headers) override { FAIL(); }
  void write(std::string) override { FAIL(); }
  void finish() override { FAIL(); }
  void onGone(std::function<void()>) override {}
  bool gone() const override { return false; }

  std::string header(std::string_view name) const {
    for (const auto &[key, value] : headers)
      if (key == name)
        return value;
    return {};
  }
};

Sent ask(const std::string &path, http::Headers headers = {},
         std::span<const Asset> from = kAssets) {
  http::HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.headers = std::move(headers);
  Sent sent;
  const bool answered = answer(request, sent, from); // must run first: it fills `sent`
  EXPECT_EQ(answered, sent.status != 0);
  return sent;
}

} // namespace

TEST(Page, SendsWhatTheClientTakes) {
  struct Case {
    const char *accepted;
    bool gzip;
  };
  for (const Case &one : {Case{"", false}, Case{"gzip", true}, Case{"br, gzip", true},
                          Case{"deflate,gzip;q=0.5 , br", true}, Case{"gzip;q=0", false},
                          Case{"gzip;q=0.000, br", false}, Case{"x-gzip", false},
                          Case{"identity", false}, Case{"br;q=1.0, gzip ; q=1", true}}) {
    SCOPED_TRACE(one.accepted);
    Sent sent = ask("/", {{"accept-encoding", one.accepted}});
    EXPECT_EQ(sent.status, 200);
    EXPECT_EQ(sent.type, "text/html; charset=utf-8");
    EXPECT_EQ(sent.body, one.gzip ? "gzip html" : "plain html");
    EXPECT_EQ(sent.header("Content-Encoding"), one.gzip ? "gzip" : "");
    EXPECT_EQ(sent.header("Vary"), "Accept-Encoding");
  }
}

TEST(Page, IsCachedForEverOrAskedFor) {
  EXPECT_EQ(ask("/").header("Cache-Control"), "no-cache");
  EXPECT_EQ(ask("/assets/x-1.js").header("Cache-Control"), "max-age=31536000, immutable");
  const std::string plain = ask("/").header("ETag");
  const std::string gzip = ask("/", {{"accept-encoding", "gzip"}}).header("ETag");
  EXPECT_EQ(plain, "\"abc\"");
  EXPECT_NE(plain, gzip);
  for (const std::string &tags :
       {plain, "W/" + plain, "\"other\", " + plain, std::string("*"), plain + ",\"b\""}) {
    Sent sent = ask("/", {{"if-none-match", tags}});
    EXPECT_EQ(sent.status, 304) << tags;
    EXPECT_EQ(sent.body, "");
    EXPECT_EQ(sent.header("ETag"), plain);
  }
  for (const std::string &tags : {gzip, std::string("\"ab\""), std::string("abc"), std::string()})
    EXPECT_EQ(ask("/", {{"if-none-match", tags}}).status, 200) << tags;
}

TEST(Page, ThePolicyHasNoExceptions) {
  for (const char *path : {"/", "/assets/x-1.js"}) {
    const std::string policy = ask(path).header("Content-Security-Policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none';")) << policy;
    for (const char *directive : {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
                                  "trusted-types 'none'", "connect-src 'self'"})
      EXPECT_NE(policy.find(directive), std::string::npos) << directive;
    for (const char *hole : {"unsafe", "*", "http:", "https:", "data:", "blob:"})
      EXPECT_EQ(policy.find(hole), std::string::npos) << hole;
    EXPECT_EQ(ask(path).header("Referrer-Policy"), "no-referrer");
  }
}

TEST(Page, LeavesOtherPathsAlone) {
  for (const char *path : {"/assets", "/assets/", "/assets/x-1.js/", "/index.html", "/live.json",
                           "//", "", "/assets/../"})
    EXPECT_EQ(ask(path).status, 0) << path;
}

TEST(Page, SaysHowToGetItWhereItIsNot) {
  for (const char *path : {"/", "/live"}) {
    Sent sent = ask(path, {}, {});
    EXPECT_EQ(sent.status, 404);
    EXPECT_NE(sent.body.find("-DINGOT_PAGE=ON"), std::string::npos) << sent.body;
    EXPECT_EQ(sent.body.find('\n') + 1, sent.body.size());
  }
  EXPECT_EQ(ask("/assets/x-1.js", {}, {}).status, 0);
}

} // namespace ingot::page
