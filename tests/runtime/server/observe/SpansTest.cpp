//===- SpansTest.cpp - Trace context, and spans in OTLP's JSON ----------------===//
#include "runtime/server/observe/Spans.h"

#include <gtest/gtest.h>
#include <map>
#include <simdjson.h>

using namespace ingot::observe;

namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c", kParent = "b7ad6b7169203331";

TEST(TraceContext, followsTheRecommendation) {
  auto good = parseTraceparent("00-" + kTrace + "-" + kParent + "-01");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->traceId, kTrace);
  EXPECT_EQ(good->parentId, kParent);
  EXPECT_TRUE(good->sampled);
  EXPECT_FALSE(parseTraceparent("00-" + kTrace + "-" + kParent + "-02")->sampled);
  EXPECT_TRUE(parseTraceparent("cc-" + kTrace + "-" + kParent + "-01-what-comes-later"));
  for (const std::string &bad :
       {std::string(), "00-" + kTrace + "-" + kParent, "ff-" + kTrace + "-" + kParent + "-01",
        "00-" + kTrace + "-" + kParent + "-01-more", "cc-" + kTrace + "-" + kParent + "-01more",
        "00-" + std::string(32, '0') + "-" + kParent + "-01",
        "00-" + kTrace + "-" + std::string(16, '0') + "-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" + kParent + "-01",
        "00-" + kTrace + "-" + kParent + "-0g", "00_" + kTrace + "-" + kParent + "-01"})
    EXPECT_FALSE(parseTraceparent(bad)) << bad;

  const TraceContext child = newSpan(good);
  EXPECT_EQ(child.header(), "00-" + kTrace + "-" + child.spanId + "-01");
  EXPECT_NE(child.spanId, kParent);
  const TraceContext root = newSpan(std::nullopt);
  EXPECT_TRUE(root.sampled && root.parentId.empty());
  EXPECT_TRUE(parseTraceparent(root.header()));
}

std::shared_ptr<RequestRecord> traced() {
  auto r = std::make_shared<RequestRecord>();
  r->id = "req-1";
  r->method = "POST";
  r->route = "/v1/chat/completions";
  r->client = "10.0.0.1";
  r->model = "m";
  r->generates = r->stream = true;
  r->status = 200;
  r->wallBegin = 1'767'225'600'000'000'000;
  r->begin = 5'000;
  r->scheduled = 6'000;
  r->firstToken = 9'000;
  r->lastToken = 19'000;
  r->end = 20'000;
  r->promptTokens = 12;
  r->cachedTokens = 8;
  r->newTokens = 5;
  r->maxTokens = 5;
  r->finishReasons = {"length"};
  r->trace = newSpan(parseTraceparent("00-" + kTrace + "-" + kParent + "-01"));
  return r;
}

struct Span {
  std::string id, parent;
  uint64_t from = 0, to = 0;
  std::map<std::string, std::string> attributes;
};

std::map<std::string, Span> spansOf(const std::string &text) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  EXPECT_FALSE(parser.parse(text).get(json)) << text;
  std::map<std::string, Span> out;
  simdjson::dom::array spans = json["resourceSpans"].at(0)["scopeSpans"].at(0)["spans"];
  for (simdjson::dom::element span : spans) {
    EXPECT_EQ(std::string_view(span["traceId"]), kTrace);
    Span one;
    one.id = std::string_view(span["spanId"]);
    std::string_view parent;
    if (!span["parentSpanId"].get(parent))
      one.parent = parent;
    one.from = std::stoull(std::string(std::string_view(span["startTimeUnixNano"])));
    one.to = std::stoull(std::string(std::string_view(span["endTimeUnixNano"])));
    simdjson::dom::array attributes;
    if (!span["attributes"].get(attributes))
      for (simdjson::dom::element attribute : attributes)
        one.attributes[std::string(std::string_view(attribute["key"]))] =
            simdjson::minify(attribute["value"]);
    out[std::string(std::string_view(span["name"]))] = one;
  }
  return out;
}

TEST(Spans, areATreeWithTheConventionsNames) {
  const auto r = traced();
  const std::shared_ptr<const RequestRecord> records[] = {r};
  auto spans = spansOf(tracesJson(records, "1.0"));
  ASSERT_EQ(spans.size(), 4u);
  Span &server = spans["chat m"];
  EXPECT_EQ(server.id, r->trace.spanId);
  EXPECT_EQ(server.parent, kParent);
  EXPECT_EQ(server.from, uint64_t(r->wallBegin));
  EXPECT_EQ(server.to - server.from, 15'000u);
  const std::pair<const char *, const char *> expected[] = {
      {"gen_ai.operation.name", "{\"stringValue\":\"chat\"}"},
      {"gen_ai.provider.name", "{\"stringValue\":\"ingot\"}"},
      {"gen_ai.request.model", "{\"stringValue\":\"m\"}"},
      {"gen_ai.request.max_tokens", "{\"intValue\":\"5\"}"},
      {"gen_ai.usage.input_tokens", "{\"intValue\":\"12\"}"},
      {"gen_ai.usage.output_tokens", "{\"intValue\":\"5\"}"},
      {"gen_ai.usage.cache_read.input_tokens", "{\"intValue\":\"8\"}"},
      {"gen_ai.response.finish_reasons",
       "{\"arrayValue\":{\"values\":[{\"stringValue\":\"length\"}]}}"},
      {"http.route", "{\"stringValue\":\"/v1/chat/completions\"}"},
      {"http.response.status_code", "{\"intValue\":\"200\"}"},
  };
  for (const auto &[name, value] : expected)
    EXPECT_EQ(server.attributes[name], value) << name;
  const std::pair<const char *, std::pair<uint64_t, uint64_t>> phases[] = {
      {"queue", {0, 1'000}}, {"prefill", {1'000, 4'000}}, {"decode", {4'000, 14'000}}};
  for (const auto &[name, times] : phases) {
    EXPECT_EQ(spans[name].parent, server.id) << name;
    EXPECT_EQ(spans[name].from - server.from, times.first) << name;
    EXPECT_EQ(spans[name].to - server.from, times.second) << name;
  }
}

TEST(Spans, endWithTheRequestThatWasCutShort) {
  auto r = traced();
  r->scheduled = r->firstToken = r->lastToken = 0;
  r->finishReasons.clear();
  r->gone = true;
  r->status = 499;
  const std::shared_ptr<const RequestRecord> records[] = {r};
  auto spans = spansOf(tracesJson(records, "1.0"));
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans["queue"].to, spans["chat m"].to);
  EXPECT_EQ(spans["chat m"].attributes["error.type"], "{\"stringValue\":\"499\"}");
}

TEST(Spans, leaveOutWhatIsNotSampled) {
  auto r = traced();
  r->trace.sampled = false;
  const std::shared_ptr<const RequestRecord> records[] = {r};
  EXPECT_TRUE(spansOf(tracesJson(records, "1.0")).empty());
}

} // namespace
