//===- Api.cpp - From a path to a route -------------------------------------===//
#include "runtime/server/api/Api.h"

#include "runtime/device/Trace.h"
#include "runtime/json/JsonText.h"
#include "runtime/server/api/Live.h"
#include "runtime/server/api/ObservedResponder.h"
#include "runtime/server/observe/ProcessFigures.h"
#include "runtime/server/page/Page.h"

#include <algorithm>
#include <chrono>

namespace ingot::api {

namespace {

using runtime::JsonText;

/// The routes are implemented as in this version of Ollama.
constexpr std::string_view kOllamaVersion = "0.14.0";

/// At most this many requests without a place in the queue may be waiting for a reader or being
/// read.
constexpr int kMostUnplaced = 64;

void send(http::Responder &responder, const ApiError &error, Dialect dialect = Dialect::OpenAI) {
  http::Headers headers;
  if (error.retryAfter)
    headers.emplace_back("Retry-After", std::to_string(error.retryAfter));
  responder.send(error.status, "application/json", errorText(error, dialect), std::move(headers));
}

constexpr const char *kMethods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};

/// Returns the name of a route of the table, so that client text never becomes a label.
const char *routeName(std::string_view path) {
  for (const PostRoute &route : postRoutes())
    if (path == route.path)
      return route.path;
  for (const GetRoute &route : getRoutes())
    if (path == route.path)
      return route.path;
  return path.starts_with("/v1/models/") ? "/v1/models" : "other";
}

/// Returns the dialect for errors on a path without a route.
Dialect dialectOf(std::string_view path) {
  return path.starts_with("/v1/messages") ? Dialect::Anthropic
         : path.starts_with("/api/")      ? Dialect::Ollama
                                          : Dialect::OpenAI;
}

const PostRoute *findPost(std::string_view path) {
  auto found = std::ranges::find(postRoutes(), path, &PostRoute::path);
  return found == postRoutes().end() ? nullptr : &*found;
}

const GetRoute *findGet(std::string_view path) {
  auto found = std::ranges::find(getRoutes(), path, &GetRoute::path);
  return found == getRoutes().end() ? nullptr : &*found;
}

const char *methodName(std::string_view method) {
  const auto *found = std::ranges::find(kMethods, method);
  return found == std::end(kMethods) ? "other" : *found;
}

} // namespace

Api::Api(std::shared_ptr<service::ModelRegistry> served, ApiOptions given, Post runs)
    : models(std::move(served)), options(std::move(given)), post(std::move(runs)),
      readers(options.readers) {
  options.observers.push_back(counts);
  observers = std::make_shared<const observe::Observers>(options.observers);
}

std::shared_ptr<observe::RequestRecord> Api::record(const http::HttpRequest &request) const {
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
    record->trace = std::move(*caller); // only for the log
  return record;
}

void Api::refused(const http::RefusedRequest &request) const {
  http::HttpRequest unread;
  unread.id = request.id;
  unread.client = request.client;
  auto record = this->record(unread);
  record->method.clear();
  record->route = "none"; // the route was not looked up
  record->trace = {};
  record->status = request.status;
  record->errorCode = request.code;
  record->end = record->begin;
  for (const auto &observer : *observers)
    observer->ended(record);
}

void Api::handle(http::HttpRequest request, std::shared_ptr<http::Responder> transport) {
  auto record = this->record(request);
  std::shared_ptr<http::Responder> responder =
      ObservedResponder::wrap(std::move(transport), record, observers);
  if (request.method == "GET" || request.method == "HEAD")
    return get(request, *responder);
  const PostRoute *entry = findPost(request.path);
  if (!entry)
    return send(*responder,
                findGet(request.path)
                    ? ApiError{405, request.path + " takes GET", "", "method_not_allowed"}
                    : ApiError{404, "there is no such route", "", "not_found"},
                dialectOf(request.path));
  if (request.method != "POST")
    return send(*responder, {405, request.path + " takes POST", "", "method_not_allowed"},
                entry->dialect);

  if (auto coding = request.header("content-encoding"); !coding.empty() && coding != "identity")
    return send(*responder,
                {415,
                 "Content-Encoding: " + std::string(coding.substr(0, 32)) +
                     " is not supported: send the body uncompressed",
                 "", "unsupported_content_encoding"},
                entry->dialect);

  auto call = std::make_shared<Call>();
  call->generation.record = record;
  record->generates = entry->generates;
  if (entry->generates) {
    // The place is reserved before the body is parsed. This bounds the bodies that wait for a reader,
    // and an excess request is refused at once. The model is known only once the body is parsed. With
    // several models, the first one with room therefore provides a place, which is exchanged below.
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
      return send(*responder, error, entry->dialect);
    }
    call->place = std::move(*place);
  } else if (unplaced.fetch_add(1) >= kMostUnplaced) {
    unplaced.fetch_sub(1);
    return send(*responder, {429, "too many requests are being read", "", errors::kQueueFull, 1},
                entry->dialect);
  }
  call->responder = std::move(responder);
  call->post = post;
  auto kept = std::make_shared<http::HttpRequest>(std::move(request));
  const size_t bytes = kept->body.size();
  auto read = [this, call = std::move(call), kept = std::move(kept), entry, record] {
    struct Done { // counts the end of a request without a place in the queue
      std::atomic<int> *count;
      ~Done() {
        if (count)
          count->fetch_sub(1);
      }
    } done{entry->generates ? nullptr : &unplaced};
    if (call->responder->gone())
      return;
    call->request = kept.get();
    call->document.reportLeftOut(&record->leftOut);
    call->body = call->document.parse(kept->body);
    if (call->body)
      call->document.refuseTwice(*call->body);
    std::optional<ApiError> error = call->document.error();
    if (call->body && !error) {
      auto reserved = call->generation.model;
      // Ollama's older clients call it "name".
      const char *field =
          entry->dialect == Dialect::Ollama && !call->body->has("model") ? "name" : "model";
      if (auto model = readModel(*call->body, *models, error, field)) {
        call->generation.model = *model;
        record->model = (*model)->name();
        call->generation.requestId = kept->id;
        call->generation.apiKey = kept->apiKey;
        if (entry->generates && *model != reserved) { // exchange the place for one of this model
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
        auto model = call->generation.model; // copied, because routes move the generation out
        error = entry->route(*call);
        if (error && error->status == 429 && model)
          error->retryAfter = model->service().retryAfter();
      }
    }
    if (!error)
      return;
    record->errorCode = error->code;
    send(*call->responder, *error, entry->dialect);
  };
  readers.push(std::move(read), bytes);
}

void Api::get(const http::HttpRequest &request, http::Responder &responder) {
  std::string_view path = request.path;
  if (path == "/health" || path == "/v1/health" || path == "/ping")
    return health(responder);
  if (path == "/version" || path == "/api/version") {
    // Ollama's clients compare this with the version that introduced the features they use: VS Code
    // needs 0.6.4, Codex 0.13.4 (/v1/responses), Claude Code 0.14.0 (/v1/messages).
    const std::string_view version = path == "/version" ? options.version : kOllamaVersion;
    return responder.send(200, "application/json",
                          JsonText().open('{').key("version").value(version).close().text());
  }
  if (path == "/metrics")
    return metrics(request, responder);
  if (path == "/live.json")
    return responder.send(200, "application/json", liveReport(*models, options.version, draining),
                          {{"Cache-Control", "no-store"}});
  const Looked at{request, *models, options.version};
  const GetRoute *route = findGet(path);
  if (route && route->answer)
    return route->answer(at, responder);
  if (path.starts_with("/v1/models/") || path.starts_with("/models/"))
    return listModels(at, responder);
  if (page::answer(request, responder))
    return;
  send(responder,
       findPost(path) ? ApiError{405, request.path + " takes POST", "", "method_not_allowed"}
                      : ApiError{404, "there is no such route", "", "not_found"},
       dialectOf(path));
}

void Api::health(http::Responder &responder) {
  for (const auto &model : models->all())
    if (auto failure = model->service().failure())
      return send(responder, apiError(*failure));
  if (draining)
    return send(responder, {503, "the server is shutting down", "", errors::kShuttingDown});
  responder.send(200, "application/json", "{\"status\":\"ok\"}");
}

/// Converts the text to OpenMetrics: names of counter families lose "_total", and an end mark is
/// added.
static std::string openMetrics(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string line(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (line.starts_with("# ")) {
      // A counter loses "_total" on its HELP line and on the TYPE line after it. A histogram keeps
      // it. A HELP line does not contain the type, so the TYPE line after it is read.
      const size_t name = line.find(' ', 2) + 1, last = line.find(' ', name);
      const bool total = line.substr(name, last - name).ends_with("_total");
      const bool type = line.starts_with("# TYPE");
      const bool histogram = type ? line.ends_with(" histogram")
                                  : text.substr(0, text.find('\n')).ends_with(" histogram");
      if (total && !histogram)
        line.erase(last - std::string_view("_total").size(), std::string_view("_total").size());
    }
    out += line + "\n";
  }
  return out + "# EOF\n";
}

void Api::metrics(const http::HttpRequest &request, http::Responder &responder) {
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
  if (request.header("accept").find("application/openmetrics-text") != std::string_view::npos)
    return responder.send(200, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                          openMetrics(text));
  responder.send(200, "text/plain; version=0.0.4; charset=utf-8", std::move(text));
}

} // namespace ingot::api
