//===- RequestLogTest.cpp - Lines that stay lines, and a reader that stalls ----------===//
#include "runtime/server/observe/RequestLog.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <thread>
#include <unistd.h>

using namespace ingot::observe;

namespace {

std::shared_ptr<RequestRecord> answered() {
  auto r = std::make_shared<RequestRecord>();
  r->id = "req-1";
  r->method = "POST";
  r->route = "/v1/completions";
  r->client = "127.0.0.1";
  r->model = "m";
  r->generates = r->stream = true;
  r->status = 200;
  r->begin = 1'000'000'000;
  r->scheduled = r->begin + 1'500'000;
  r->firstToken = r->begin + 20'000'000;
  r->lastToken = r->begin + 90'000'000;
  r->end = r->begin + 100'000'000;
  r->promptTokens = 12;
  r->cachedTokens = 8;
  r->newTokens = 5;
  r->finishReasons = {"stop", "length", "stop"};
  return r;
}

std::string readAll(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RequestLog, writesJsonWithWhatIsKnown) {
  const std::string line = requestLine(*answered(), 1'767'225'600'123'456'789, LogFormat::Json);
  EXPECT_EQ(line, "{\"time\":\"2026-01-01T00:00:00.123Z\",\"event\":\"request\",\"id\":\"req-1\","
                  "\"method\":\"POST\",\"route\":\"/v1/completions\",\"status\":200,\"client\":"
                  "\"127.0.0.1\",\"model\":\"m\",\"stream\":true,\"prompt_tokens\":12,"
                  "\"cached_tokens\":8,\"new_tokens\":5,\"queue_ms\":1.5,\"ttft_ms\":20,"
                  "\"total_ms\":100,\"finish_reason\":\"stop,length\"}");
}

TEST(RequestLog, writesTextForPeople) {
  EXPECT_EQ(
      requestLine(*answered(), 0, LogFormat::Text),
      "1970-01-01T00:00:00.000Z req-1 127.0.0.1 POST /v1/completions 200 m prompt=12 cached=8 "
      "new=5 queue=1.5ms ttft=20.0ms total=100.0ms stop,length");
}

/// No byte from a client can end a line or reach a terminal as a control sequence.
TEST(RequestLog, escapesWhatClientsSend) {
  auto r = answered();
  r->route = "other";
  r->path = "/a\r\n2026 fake\x1b[2J\x7f\xC2\x9B"
            "31m\xff\"\\ \xE2\x82\xAC";
  r->id = "x\ny";
  r->body = "{\"prompt\":\"\x01\n\"}";
  for (LogFormat format : {LogFormat::Json, LogFormat::Text}) {
    const std::string line = requestLine(*r, 0, format);
    for (size_t i = 0; i < line.size(); ++i) {
      const auto c = static_cast<unsigned char>(line[i]);
      EXPECT_TRUE(c >= 0x20 && c != 0x7f) << i;
      EXPECT_FALSE(c == 0xC2 && static_cast<unsigned char>(line[i + 1]) < 0xA0) << i;
    }
    EXPECT_NE(line.find("\xE2\x82\xAC"), std::string::npos) << "what is readable stays so";
  }
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_FALSE(parser.parse(requestLine(*r, 0, LogFormat::Json)).get(json));
  EXPECT_EQ(std::string_view(json["id"]), "x\ny");
  EXPECT_TRUE(std::string_view(json["path"]).ends_with("\"\\ \xE2\x82\xAC"));
}

TEST(RequestLog, appendsAndOpensAnew) {
  const std::string path = testing::TempDir() + "request.log", old = path + ".1";
  std::filesystem::remove(path);
  {
    LogOptions options;
    options.file = path;
    auto log = RequestLog::open(options);
    ASSERT_TRUE(log) << log.error().format();
    (*log)->event("start", {{"url", "http://x\ny"}});
    (*log)->ended(answered());
    for (int i = 0; i < 200 && readAll(path).find("req-1") == std::string::npos; ++i)
      usleep(10'000);
    std::filesystem::rename(path, old);
    (*log)->reopen();
    for (int i = 0; i < 200 && !std::filesystem::exists(path); ++i)
      usleep(10'000);
    auto health = answered();
    health->route = "/health";
    (*log)->ended(health); // polled too often to be logged
    (*log)->event("stop", {});
  }
  EXPECT_NE(readAll(old).find(" start url=http://x\\u000ay\n"), std::string::npos) << readAll(old);
  EXPECT_NE(readAll(path).find(" stop\n"), std::string::npos) << readAll(path);
  EXPECT_EQ(readAll(path).find("health"), std::string::npos);
  LogOptions nowhere;
  nowhere.file = testing::TempDir() + "no/such/folder/x";
  auto refused = RequestLog::open(nowhere);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0580");
}

/// A full disk loses lines, and each is counted.
TEST(RequestLog, CountsWhatAFullDiskLoses) {
  const int full = open("/dev/full", O_WRONLY);
  if (full < 0)
    GTEST_SKIP() << "there is no /dev/full here";
  LogOptions options;
  options.descriptor = full;
  {
    auto log = RequestLog::open(options);
    ASSERT_TRUE(log);
    const auto shared = answered();
    for (int i = 0; i < 50; ++i)
      (*log)->ended(shared);
    for (int i = 0; i < 500 && (*log)->dropped() < 50; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ((*log)->dropped(), 50u);
  }
  close(full);
}

/// When space becomes available again, a separate line reports how many lines are missing.
TEST(RequestLog, TellsOfLinesThatAFullDiskLost) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LogOptions options;
  options.descriptor = dup(ends[1]);
  std::string text;
  {
    auto log = RequestLog::open(options);
    ASSERT_TRUE(log);
    const int full = open("/dev/full", O_WRONLY);
    if (full < 0)
      GTEST_SKIP() << "there is no /dev/full here";
    ASSERT_EQ(dup2(full, options.descriptor), options.descriptor);
    (*log)->event("lost", {});
    for (int i = 0; i < 500 && (*log)->dropped() < 1; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_EQ(dup2(ends[1], options.descriptor), options.descriptor);
    (*log)->event("kept", {});
    close(full);
  }
  close(options.descriptor), close(ends[1]);
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(got));
  close(ends[0]);
  EXPECT_NE(text.find(" kept\n"), std::string::npos) << text;
  EXPECT_NE(text.find("log_lines_dropped lines=1\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(" lost"), std::string::npos) << text;
}

/// Ten thousand wrong keys make two lines: the first refusal, and the number of further ones.
TEST(RequestLog, SumsUpWhatOneClientIsRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LogOptions options;
  options.descriptor = ends[1];
  {
    auto log = RequestLog::open(options);
    ASSERT_TRUE(log);
    auto refused = [](const char *client) {
      auto one = std::make_shared<RequestRecord>();
      one->route = "none";
      one->client = client;
      one->status = 401;
      one->errorCode = "invalid_api_key";
      return one;
    };
    for (int i = 0; i < 10'001; ++i)
      (*log)->ended(refused("10.0.0.9"));
    (*log)->ended(refused("10.0.0.7"));
    (*log)->ended(answered());
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(got));
  close(ends[0]);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  EXPECT_NE(text.find("refusals client=10.0.0.9 status=401 code=invalid_api_key requests=10000\n"),
            std::string::npos)
      << text;
}

/// With a pipe that is never read, the server continues, lines are counted as lost, and shutdown completes.
TEST(RequestLog, neverWaitsForItsReader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_GE(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
  const auto begin = std::chrono::steady_clock::now();
  uint64_t lost = 0;
  {
    LogOptions options;
    options.descriptor = ends[1];
    options.queue = 100;
    auto log = RequestLog::open(options);
    ASSERT_TRUE(log);
    const auto shared = answered();
    for (int i = 0; i < 20'000; ++i)
      (*log)->ended(shared);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(seconds, 5.0);
    lost = (*log)->dropped();
  }
  EXPECT_GT(lost, 15'000u);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900)) << "it tried";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  close(ends[0]);
  close(ends[1]);
}

} // namespace
