//===- ExporterTest.cpp - A collector that follows a script ------------------===//
#include "runtime/server/http/Server.h"
#include "runtime/server/observe/SpanExporter.h"

#include <gtest/gtest.h>
#include <mutex>
#include <thread>

using namespace ingot;
using namespace ingot::observe;
using namespace std::chrono_literals;

namespace {

class Collector {
public:
  /// Answers with these statuses in turn, then with 200. For 0 it does not answer.
  explicit Collector(std::vector<int> script) : script(std::move(script)) {
    http::ServerOptions options;
    options.port = 0;
    auto made = http::Server::create(
        options, [this](http::HttpRequest request, std::shared_ptr<http::Responder> responder) {
          std::lock_guard lock(mutex);
          EXPECT_EQ(request.path, "/v1/traces");
          EXPECT_EQ(request.header("content-type"), "application/json");
          const int status = posts < this->script.size() ? this->script[posts] : 200;
          ++posts;
          if (status == 0)
            return held.push_back(std::move(responder));
          if (status == 200)
            bodies.push_back(request.body);
          responder->send(status, "application/json", "{}");
        });
    server = std::move(*made);
    server->start();
  }
  ~Collector() { server->stop(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server->port()); }
  size_t count() {
    std::lock_guard lock(mutex);
    return posts;
  }
  /// Returns the number of server spans in all accepted requests.
  size_t taken() {
    std::lock_guard lock(mutex);
    size_t count = 0;
    for (const std::string &body : bodies)
      for (size_t at = 0; (at = body.find("\"kind\":2", at)) != std::string::npos; ++at)
        ++count;
    return count;
  }

private:
  std::mutex mutex;
  std::vector<int> script;
  size_t posts = 0;
  std::vector<std::string> bodies;
  std::vector<std::shared_ptr<http::Responder>> held;
  std::unique_ptr<http::Server> server;
};

ExportOptions quick(const std::string &url) {
  ExportOptions options;
  options.url = url;
  options.interval = 20ms;
  options.timeout = 200ms;
  options.firstPause = 20ms;
  options.longestPause = 50ms;
  return options;
}

std::shared_ptr<RequestRecord> record(bool sampled = true) {
  auto r = std::make_shared<RequestRecord>();
  r->method = "GET";
  r->route = "/v1/models";
  r->status = 200;
  r->begin = 1;
  r->end = 2;
  r->trace = newSpan(std::nullopt);
  r->trace.sampled = sampled;
  return r;
}

void waitFor(const std::function<bool()> &what) {
  for (int i = 0; i < 500 && !what(); ++i)
    std::this_thread::sleep_for(10ms);
}

TEST(SpanExporter, sendsBatchesAndLeavesOutWhatIsNotSampled) {
  Collector collector({});
  auto exporter = SpanExporter::create(quick(collector.url()));
  ASSERT_TRUE(exporter);
  for (int i = 0; i < 600; ++i)
    (*exporter)->ended(record(i % 2 == 0));
  waitFor([&] { return (*exporter)->counts().sent == 300; });
  EXPECT_EQ((*exporter)->counts().sent, 300u);
  EXPECT_EQ(collector.taken(), 300u);
  EXPECT_LT(collector.count(), 30u);
}

TEST(SpanExporter, triesAgainWhereThatHelps) {
  Collector collector({503, 0, 429});
  std::vector<std::string> told;
  auto options = quick(collector.url());
  options.onTrouble = [&](const std::string &why) { told.push_back(why); };
  auto exporter = SpanExporter::create(options);
  (*exporter)->ended(record());
  waitFor([&] { return (*exporter)->counts().sent == 1; });
  EXPECT_EQ(collector.count(), 4u);
  EXPECT_EQ(collector.taken(), 1u);
  EXPECT_EQ((*exporter)->counts().dropped, 0u);
  exporter->reset();
  EXPECT_EQ(told, (std::vector<std::string>{"status 503", ""}));
}

TEST(SpanExporter, dropsWhatIsNotTaken) {
  Collector collector({400, 503, 503, 503});
  auto options = quick(collector.url());
  options.tries = 3;
  auto exporter = SpanExporter::create(options);
  (*exporter)->ended(record());
  waitFor([&] { return (*exporter)->counts().dropped == 1; });
  EXPECT_EQ(collector.count(), 1u) << "400 will not become better";
  (*exporter)->ended(record());
  waitFor([&] { return (*exporter)->counts().dropped == 2; });
  EXPECT_EQ(collector.count(), 4u);
}

TEST(SpanExporter, isBoundedAndEndsSoonWithoutACollector) {
  auto options = quick("http://127.0.0.1:1");
  options.queue = 50;
  options.firstPause = options.longestPause = 10s;
  auto exporter = SpanExporter::create(options);
  for (int i = 0; i < 1000; ++i)
    (*exporter)->ended(record());
  EXPECT_GT((*exporter)->counts().dropped, 400u);
  const auto begin = std::chrono::steady_clock::now();
  exporter->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
  EXPECT_EQ(SpanExporter::create(quick("https://x")).error().code, "E0582");
}

} // namespace
