//===- Api.cpp - From a path to a route -------------------------------------===//
#include "runtime/service/api/Api.h"

#include "runtime/device/Trace.h"
#include "runtime/engine/JsonText.h"
#include "runtime/service/api/Live.h"
#include "runtime/service/api/ObservedResponder.h"
#include "runtime/service/observe/ProcessFigures.h"
#include "runtime/service/page/Page.h"

#include <algorithm>
#include <chrono>

namespace ingot::api {

namespace {

using runtime::JsonText;

struct Entry {
  const char *path;
  Route route;
  bool generates; ///< takes a place in the queue
  bool anthropic; ///< errors in Anthropic's shape
};

constexpr Entry kPosts[] = {
    {"/v1/chat/completions", chatCompletions, true, false},
    {"/v1/completions", completions, true, false},
    {"/v1/messages", messages, true, true},
    {"/v1/messages/count_tokens", countTokens, false, true},
    {"/v1/embeddings", embeddings, true, false},
    {"/v1/responses", responses, true, false},
    {"/tokenize", tokenize, false, false},
    {"/detokenize", detokenize, false, false},
    {"/apply-template", applyTemplate, false, false},
};
/// Requests without a place in the queue that may be read or wait to be.
constexpr int kMostUnplaced = 64;
constexpr const char *kGets[] = {"/health",  "/v1/models", "/metrics",
                                 "/version", "/ping",      "/live.json"};

void send(http::Responder &responder, const ApiError &error, bool anthropic) {
  http::Headers headers;
  if (error.retryAfter)
    headers.emplace_back("Retry-After", std::to_string(error.retryAfter));
  responder.send(error.status, "application/json", anthropic ? error.anthropicBody() : error.body(),
                 std::move(headers));
}

constexpr const char *kMethods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};

/// One of ours, so that a client's words are no label.
const char *routeName(std::string_view path) {
  for (const Entry &entry : kPosts)
    if (path == entry.path)
      return entry.path;
  for (const char *known : kGets)
    if (path == known)
      return known;
  return path.starts_with("/v1/models/") ? "/v1/models" : "other";
}

const char *methodName(std::string_view method) {
  const auto *found = std::ranges::find(kMethods, method);
  return found == std::end(kMethods) ? "other" : *found;
}

} // namespace

Api::Api(std::shared_ptr<ModelRegistry> served, ApiOptions given, Post runs)
    : models(std::move(served)), options(std::move(given)), post(std::move(runs)),
      readers(options.readers) {
  options.observers.push_back(counts);
  observers = std::make_shared<const observe::Observers>(options.observers);
}

std::shared_ptr<observe::RequestRecord> Api::record(const http::Request &request) const {
  constexpr size_t kMostPath = 256, kMostBody = 64 << 10;
  auto record = std::make_shared<observe::RequestRecord>();
  record->begin = runtime::nowNanoseconds();
  record->wallBegin = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  record->id = request.id;
  record->method = methodName(request.method);
  record->route = routeName(request.path);
  record->path = request.path.substr(0, kMostPath);
  record->client = request.client;
  if (options.keepBodies)
    record->body = request.body.substr(0, kMostBody);
  auto caller = observe::parseTraceparent(request.header("traceparent"));
  if (options.trace)
    record->trace = observe::newSpan(std::move(caller));
  else if (caller)
    record->trace = std::move(*caller); // for the log
  return record;
}

void Api::refused(const http::RefusedRequest &request) const {
  http::Request unread;
  unread.id = request.id;
  unread.client = request.client;
  auto record = this->record(unread);
  record->method.clear();
  record->route = "none"; // it was not looked for
  record->trace = {};
  record->status = request.status;
  record->errorCode = request.code;
  record->end = record->begin;
  for (const auto &observer : *observers)
    observer->ended(record);
}

void Api::handle(http::Request request, std::shared_ptr<http::Responder> transport) {
  auto record = this->record(request);
  std::shared_ptr<http::Responder> responder =
      ObservedResponder::wrap(std::move(transport), record, observers);
  if (request.method == "GET" || request.method == "HEAD")
    return get(request, *responder);
  const Entry *entry =
      std::ranges::find_if(kPosts, [&](const Entry &one) { return request.path == one.path; });
  if (entry == std::end(kPosts)) {
    const bool known =
        std::ranges::any_of(kGets, [&](const char *path) { return request.path == path; });
    return send(*responder,
                known ? ApiError{405, request.path + " takes GET", "", "method_not_allowed"}
                      : ApiError{404, "there is no such route", "", "not_found"},
                request.path.starts_with("/v1/messages"));
  }
  if (request.method != "POST")
    return send(*responder, {405, request.path + " takes POST", "", "method_not_allowed"},
                entry->anthropic);

  if (auto coding = request.header("content-encoding"); !coding.empty() && coding != "identity")
    return send(*responder,
                {415,
                 "Content-Encoding: is " + std::string(coding.substr(0, 32)) +
                     "; bodies are read as they are: send it without a coding",
                 "", "unsupported_content_encoding"},
                entry->anthropic);

  auto call = std::make_shared<Call>();
  call->generation.record = record;
  record->generates = entry->generates;
  if (entry->generates) {
    // Room is asked for before the body is read: which model it is for shows there, so that with
    // several models the first with room answers for now.
    Result<service::Reservation> place = Error{};
    for (const auto &model : models->all())
      if (place = model->service().reserve(); place) {
        call->generation.model = model;
        break;
      }
    if (!place) {
      ApiError error = apiError(place.error());
      error.retryAfter = 1;
      for (const auto &model : models->all())
        error.retryAfter = std::max(error.retryAfter, model->service().retryAfter());
      record->errorCode = error.code;
      return send(*responder, error, entry->anthropic);
    }
    call->place = std::move(*place);
  } else if (unplaced.fetch_add(1) >= kMostUnplaced) {
    unplaced.fetch_sub(1);
    return send(*responder, {429, "too many requests are being read", "", "E0560", 1},
                entry->anthropic);
  }
  call->responder = std::move(responder);
  call->post = post;
  auto kept = std::make_shared<http::Request>(std::move(request));
  const size_t bytes = kept->body.size();
  auto read = [this, call = std::move(call), kept = std::move(kept), entry, record] {
    struct Done { // of those that take no place in the queue
      std::atomic<int> *count;
      ~Done() {
        if (count)
          count->fetch_sub(1);
      }
    } done{entry->generates ? nullptr : &unplaced};
    if (call->responder->gone())
      return;
    call->request = kept.get();
    call->body = call->document.parse(kept->body);
    if (call->body)
      call->document.refuseTwice(*call->body);
    std::optional<ApiError> error = call->document.error();
    if (call->body && !error) {
      auto reserved = call->generation.model;
      if (auto model = readModel(*call->body, *models, error)) {
        call->generation.model = *model;
        record->model = (*model)->name();
        call->generation.requestId = kept->id;
        call->generation.apiKey = kept->apiKey;
        if (entry->generates && *model != reserved) {
          auto place = (*model)->service().reserve();
          if (place)
            call->place = std::move(*place);
          else
            error = apiError(place.error());
        }
      }
      if (call->document.error())
        error = call->document.error();
      if (!error) {
        auto model = call->generation.model; // routes take the generation away
        error = entry->route(*call);
        if (error && error->status == 429 && model)
          error->retryAfter = model->service().retryAfter();
      }
    }
    if (!error)
      return;
    record->errorCode = error->code;
    send(*call->responder, *error, entry->anthropic);
  };
  readers.push(std::move(read), bytes);
}

void Api::get(const http::Request &request, http::Responder &responder) {
  if (request.path == "/health" || request.path == "/ping")
    return health(responder);
  if (request.path == "/version")
    return responder.send(
        200, "application/json",
        JsonText().open('{').key("version").value(options.version).close().text());
  if (request.path == "/metrics")
    return metrics(responder);
  if (request.path == "/v1/models" || request.path.starts_with("/v1/models/"))
    return listModels(request, responder);
  if (request.path == "/live.json")
    return responder.send(200, "application/json", liveReport(*models, options.version, draining),
                          {{"Cache-Control", "no-store"}});
  if (page::answer(request, responder))
    return;
  const bool known =
      std::ranges::any_of(kPosts, [&](const Entry &one) { return request.path == one.path; });
  send(responder,
       known ? ApiError{405, request.path + " takes POST", "", "method_not_allowed"}
             : ApiError{404, "there is no such route", "", "not_found"},
       false);
}

void Api::health(http::Responder &responder) {
  for (const auto &model : models->all())
    if (auto failure = model->service().failure())
      return send(responder, apiError(*failure), false);
  if (draining)
    return send(responder, {503, "the server is shutting down", "", "E0561"}, false);
  responder.send(200, "application/json", "{\"status\":\"ok\"}");
}

void Api::listModels(const http::Request &request, http::Responder &responder) {
  auto write = [](JsonText &json, const ServedModel &model) {
    json.open('{').key("id").value(model.name()).key("object").value("model");
    json.key("created").value(model.created()).key("owned_by").value("ingot");
    json.key("max_model_len").value(model.session().context());
    json.close();
  };
  JsonText json;
  if (request.path != "/v1/models" && request.path != "/v1/models/") {
    auto model = models->find(request.path.substr(std::string_view("/v1/models/").size()));
    if (!model)
      return send(responder, unknownModel(*models), false);
    write(json, *model);
    return responder.send(200, "application/json", json.text());
  }
  json.open('{').key("object").value("list").key("data").open('[');
  for (const auto &model : models->all())
    write(json, *model);
  responder.send(200, "application/json", json.close().close().text());
}

void Api::metrics(http::Responder &responder) {
  std::vector<std::pair<std::string, service::Measurements>> all;
  for (const auto &model : models->all())
    all.emplace_back(model->name(), model->service().metrics().read());
  std::string text = service::exposition(all);
  text += "# HELP ingot:build_info This program.\n# TYPE ingot:build_info gauge\n"
          "ingot:build_info{version=\"" +
          options.version + "\"} 1\n";
  text += counts->exposition() + observe::processExposition();
  if (options.moreMetrics)
    text += options.moreMetrics();
  responder.send(200, "text/plain; version=0.0.4; charset=utf-8", std::move(text));
}

} // namespace ingot::api
