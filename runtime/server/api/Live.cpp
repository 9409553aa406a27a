//===- Live.cpp - /live.json ------------------------------------------------===//
#include "runtime/server/api/Live.h"

#include "runtime/device/Trace.h"
#include "runtime/json/JsonText.h"

#include <algorithm>
#include <ctime>

namespace ingot::api {

namespace {

using runtime::JsonText;
using service::RequestView;

constexpr size_t kMostRequests = 200;

/// Writes a histogram. Bucket i counts values in (bounds[i - 1], bounds[i]]; the last one has no
/// bound.
void histogram(JsonText &json, std::string_view name, const service::Histogram &own) {
  json.key(name).open('{').key("bounds").open('[');
  for (double bound : own.upperBounds())
    json.value(bound);
  json.close().key("counts").open('[');
  for (uint64_t count : own.buckets())
    json.value(count);
  json.close().key("count").value(own.count()).key("sum").value(own.sum());
  json.key("p50").value(own.quantile(0.5)).key("p99").value(own.quantile(0.99)).close();
}

const char *stateName(RequestView::State state) {
  switch (state) {
  case RequestView::State::Queued:
    return "queued";
  case RequestView::State::Prefill:
    return "prefill";
  case RequestView::State::Decode:
    break;
  }
  return "decode";
}

void requests(JsonText &json, const std::vector<RequestView> &all) {
  const size_t shown = std::min(all.size(), kMostRequests);
  json.key("requests").open('[');
  for (size_t i = 0; i < shown; ++i) {
    const RequestView &one = all[i];
    json.open('{').key("id").value(one.name).key("state").value(stateName(one.state));
    json.key("choices").value(one.choices).key("prompt_tokens").value(one.promptTokens);
    json.key("new_tokens").value(one.newTokens).key("age_s").value(one.seconds).close();
  }
  json.close().key("requests_left_out").value(all.size() - shown);
}

void modelReport(JsonText &json, service::ServedModel &model) {
  const runtime::Session &session = model.session();
  const service::Measurements now = model.service().metrics().read();
  json.open('{').key("name").value(model.name());
  json.key("up_s").value(std::max<int64_t>(0, int64_t(std::time(nullptr)) - model.created()));
  json.key("target").value(session.target()).key("device").value(session.device());
  json.key("context").value(session.context()).key("max_seqs").value(session.maxSeqs());
  json.key("failure");
  if (auto failure = model.service().failure())
    json.value(failure->code + ": " + failure->what);
  else
    json.raw("null");
  json.key("running").value(now.running).key("waiting").value(now.waiting);
  json.key("kv_pages_used").value(now.pagesUsed).key("kv_pages").value(now.pages);
  json.key("kv_pages_kept").value(now.pagesCached).key("preemptions").value(now.preemptions);
  json.key("steps").value(now.steps).key("step_seconds").value(now.stepSeconds);
  json.key("prompt_tokens").value(now.promptTokens);
  json.key("generation_tokens").value(now.generationTokens);
  json.key("refused").value(now.refused);
  json.key("prefix_queries").value(now.prefixQueries).key("prefix_hits").value(now.prefixHits);
  histogram(json, "ttft", now.timeToFirstToken);
  histogram(json, "itl", now.interTokenLatency);
  requests(json, model.service().requests());
  json.close();
}

} // namespace

std::optional<ApiError> cancelRequest(Call &call) {
  call.body->require("id");
  const auto id = call.body->text("id", 1 << 10);
  if (call.document.error())
    return call.document.error();
  const size_t ended = call.generation.model->service().end(*id, call.request->apiKey);
  if (!ended)
    return ApiError{404, "id: no running request has this id and your key", "id", "not_found"};
  call.responder->send(200, "application/json",
                       JsonText().open('{').key("cancelled").value(ended).close().text());
  return std::nullopt;
}

std::string liveReport(const service::ModelRegistry &models, std::string_view version,
                       bool draining) {
  JsonText json;
  json.open('{').key("version").value(version);
  json.key("clock_s").value(double(runtime::nowNanoseconds()) * 1e-9);
  json.key("draining").value(draining).key("models").open('[');
  for (const auto &model : models.all())
    modelReport(json, *model);
  return json.close().close().text();
}

} // namespace ingot::api
