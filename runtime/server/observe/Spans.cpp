//===- Spans.cpp - See Spans.h ----------------------------------------------===//
#include "runtime/server/observe/Spans.h"

#include "runtime/json/JsonText.h"

namespace ingot::observe {

using runtime::JsonText;

namespace {

enum Kind { Internal = 1, Server = 2 };
enum Status { Unset = 0, Failed = 2 };

class Attributes {
public:
  explicit Attributes(JsonText &json) : json(json) { json.key("attributes").open('['); }
  ~Attributes() { json.close(); }
  Attributes &text(std::string_view name, std::string_view value) {
    open(name).key("stringValue").value(value);
    return close();
  }
  Attributes &integer(std::string_view name, int64_t value) {
    open(name).key("intValue").value(std::to_string(value));
    return close();
  }
  Attributes &number(std::string_view name, double value) {
    open(name).key("doubleValue").value(value);
    return close();
  }
  Attributes &truth(std::string_view name, bool value) {
    open(name).key("boolValue").value(value);
    return close();
  }
  Attributes &texts(std::string_view name, const std::vector<const char *> &values) {
    open(name).key("arrayValue").open('{').key("values").open('[');
    for (const char *value : values)
      json.open('{').key("stringValue").value(value).close();
    json.close().close();
    return close();
  }

private:
  JsonText &open(std::string_view name) {
    return json.open('{').key("key").value(name).key("value").open('{');
  }
  Attributes &close() {
    json.close().close();
    return *this;
  }
  JsonText &json;
};

/// Returns gen_ai.operation.name, or "" if the route has none.
const char *operation(std::string_view route) {
  if (route == "/v1/completions")
    return "text_completion";
  if (route == "/v1/chat/completions" || route == "/v1/messages" || route == "/v1/responses")
    return "chat";
  return route == "/v1/embeddings" ? "embeddings" : "";
}

std::string unixNanoseconds(const RequestRecord &r, uint64_t steady) {
  return std::to_string(r.wallBegin + int64_t(steady - r.begin));
}

void openSpan(JsonText &json, const RequestRecord &r, const std::string &id,
              const std::string &parent, std::string_view name, Kind kind, uint64_t from,
              uint64_t to) {
  json.open('{').key("traceId").value(r.trace.traceId).key("spanId").value(id);
  if (!parent.empty())
    json.key("parentSpanId").value(parent);
  json.key("name").value(name).key("kind").value(int(kind));
  json.key("startTimeUnixNano").value(unixNanoseconds(r, from));
  json.key("endTimeUnixNano").value(unixNanoseconds(r, std::max(from, to)));
}

void serverSpan(JsonText &json, const RequestRecord &r) {
  const std::string doing = operation(r.route);
  // "{gen_ai.operation.name} {gen_ai.request.model}", or "{method} {http.route}".
  openSpan(json, r, r.trace.spanId, r.trace.parentId,
           doing.empty() ? r.method + " " + r.route
                         : doing + (r.model.empty() ? "" : " " + r.model),
           Server, r.begin, r.end);
  {
    Attributes all(json);
    all.text("http.request.method", r.method).text("http.route", r.route);
    all.integer("http.response.status_code", r.status).text("client.address", r.client);
    all.text("ingot.request.id", r.id);
    if (!r.errorCode.empty())
      all.text("error.type", r.errorCode);
    else if (r.status >= 400)
      all.text("error.type", std::to_string(r.status));
    if (!doing.empty())
      all.text("gen_ai.operation.name", doing).text("gen_ai.provider.name", "ingot");
    if (!doing.empty() && !r.model.empty())
      all.text("gen_ai.request.model", r.model).text("gen_ai.response.model", r.model);
    if (r.promptTokens) {
      all.truth("gen_ai.request.stream", r.stream)
          .integer("gen_ai.request.choice.count", r.choices);
      if (r.maxTokens >= 0)
        all.integer("gen_ai.request.max_tokens", r.maxTokens);
      all.number("gen_ai.request.temperature", r.temperature)
          .number("gen_ai.request.top_p", r.topP);
      if (r.topK > 0)
        all.integer("gen_ai.request.top_k", r.topK);
      all.integer("gen_ai.usage.input_tokens", r.promptTokens);
      all.integer("gen_ai.usage.output_tokens", r.newTokens);
      all.integer("gen_ai.usage.cache_read.input_tokens", r.cachedTokens);
      if (r.firstToken)
        all.number("gen_ai.response.time_to_first_chunk", double(r.firstToken - r.begin) * 1e-9);
      if (!r.finishReasons.empty())
        all.texts("gen_ai.response.finish_reasons", r.finishReasons);
    }
  }
  json.key("events").open('[');
  auto event = [&](const char *name, uint64_t at) {
    json.open('{')
        .key("timeUnixNano")
        .value(unixNanoseconds(r, at))
        .key("name")
        .value(name)
        .close();
  };
  if (r.firstToken)
    event("ingot.first_token", r.firstToken);
  if (r.gone)
    event("ingot.client_left", r.end);
  json.close();
  // A server span fails only through an error of the server; client errors leave it Unset.
  json.key("status").open('{').key("code").value(int(r.status >= 500 ? Failed : Unset)).close();
  json.close();
}

void phase(JsonText &json, const RequestRecord &r, const char *name, uint64_t from, uint64_t to) {
  if (!from || !to)
    return;
  openSpan(json, r, randomHex(16), r.trace.spanId, name, Internal, from, to);
  json.close();
}

} // namespace

std::string tracesJson(std::span<const std::shared_ptr<const RequestRecord>> records,
                       const std::string &version) {
  JsonText json;
  json.open('{').key("resourceSpans").open('[').open('{').key("resource").open('{');
  Attributes(json).text("service.name", "ingot").text("service.version", version);
  json.close().key("scopeSpans").open('[').open('{').key("scope").open('{');
  json.key("name").value("ingot").key("version").value(version).close().key("spans").open('[');
  for (const auto &record : records) {
    const RequestRecord &r = *record;
    if (!r.trace.sampled || r.trace.spanId.empty())
      continue;
    serverSpan(json, r);
    // If the request ended early, its current phase ended with it.
    const uint64_t last = r.lastToken ? r.lastToken : r.end;
    if (r.promptTokens) {
      phase(json, r, "queue", r.begin, r.scheduled ? r.scheduled : last);
      phase(json, r, "prefill", r.scheduled, r.firstToken ? r.firstToken : last);
      phase(json, r, "decode", r.firstToken, last);
    }
  }
  return json.close().close().close().close().close().close().text();
}

} // namespace ingot::observe
