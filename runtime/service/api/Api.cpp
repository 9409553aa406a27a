//===- Api.cpp - From a path to a route -------------------------------------===//
#include "runtime/service/api/Api.h"

#include "runtime/engine/JsonText.h"
#include "runtime/service/api/Live.h"
#include "runtime/service/page/Page.h"

#include <algorithm>

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
    {"/v1/responses", responses, true, false},
    {"/tokenize", tokenize, false, false},
    {"/detokenize", detokenize, false, false},
    {"/apply-template", applyTemplate, false, false},
};
constexpr const char *kGets[] = {"/health",  "/v1/models", "/metrics",
                                 "/version", "/ping",      "/live.json"};

void send(http::Responder &responder, const ApiError &error, bool anthropic) {
  http::Headers headers;
  if (error.retryAfter)
    headers.emplace_back("Retry-After", std::to_string(error.retryAfter));
  responder.send(error.status, "application/json", anthropic ? error.anthropicBody() : error.body(),
                 std::move(headers));
}

} // namespace

Api::Api(std::shared_ptr<ModelRegistry> served, ApiOptions given, Post runs)
    : models(std::move(served)), options(std::move(given)), post(std::move(runs)),
      readers(options.readers) {}

void Api::handle(http::Request request, std::shared_ptr<http::Responder> responder) {
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

  auto call = std::make_shared<Call>();
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
      return send(*responder, error, entry->anthropic);
    }
    call->place = std::move(*place);
  }
  call->responder = std::move(responder);
  call->post = post;
  auto kept = std::make_shared<http::Request>(std::move(request));
  readers.push([this, call, kept, entry] {
    call->request = kept.get();
    call->body = call->document.parse(kept->body);
    std::optional<ApiError> error = call->document.error();
    if (call->body && !error) {
      auto reserved = call->generation.model;
      if (auto model = readModel(*call->body, *models, error)) {
        call->generation.model = *model;
        call->generation.requestId = kept->id;
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
      if (!error)
        error = entry->route(*call);
    }
    if (!error)
      return;
    if (error->status == 429 && call->generation.model)
      error->retryAfter = call->generation.model->service().retryAfter();
    send(*call->responder, *error, entry->anthropic);
  });
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
  if (request.path != "/v1/models") {
    auto model = models->find(request.path.substr(std::string_view("/v1/models/").size()));
    if (!model)
      return send(responder, {404, "there is no model of that name", "model", "model_not_found"},
                  false);
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
  responder.send(200, "text/plain; version=0.0.4; charset=utf-8", service::exposition(all));
}

} // namespace ingot::api
