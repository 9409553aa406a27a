//===- RouteTable.h - Which paths there are, and who answers them ----------===//
//
// One row for each path. Servers that people come from have other names for the same thing, and
// leave the "/v1" out: rows of their own, with the same route.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Routes.h"

#include <span>

namespace ingot::api {

/// In whose shape an error is told.
enum class Dialect : uint8_t {
  OpenAI,
  Anthropic,
  Ollama,
  LlamaCpp,
  Cohere, ///< "message" beside OpenAI's "error": vLLM's clients use the same paths
};
std::string errorText(const ApiError &error, Dialect dialect);

/// A route with a JSON body.
struct PostRoute {
  const char *path;
  Route route;
  bool generates; ///< takes a place in the queue
  Dialect dialect;
  const char *what; ///< a line for /openapi.json
};
std::span<const PostRoute> postRoutes();

/// What a GET may look at.
struct Looked {
  const http::Request &request;
  service::ModelRegistry &models;
  const std::string &version;
};
/// A route that is answered at once, on the server's thread.
struct GetRoute {
  const char *path;
  void (*answer)(const Looked &at, http::Responder &responder); ///< null: Api's own
  const char *what;
};
std::span<const GetRoute> getRoutes();

// By file: ChatCompletions.cpp
std::optional<ApiError> fillMiddle(Call &call); ///< POST /v1/fim/completions
std::optional<ApiError> countChat(Call &call);  ///< POST /v1/chat/completions/input_tokens
// Responses.cpp
std::optional<ApiError> countResponse(Call &call); ///< POST /v1/responses/input_tokens
// ModelLists.cpp
void listModels(const Looked &at, http::Responder &responder);    ///< GET /v1/models, …/NAME
void tokenizerInfo(const Looked &at, http::Responder &responder); ///< GET /tokenizer_info
// Ollama.cpp
std::optional<ApiError> ollamaChat(Call &call);
std::optional<ApiError> ollamaGenerate(Call &call);
std::optional<ApiError> ollamaEmbed(Call &call);
std::optional<ApiError> ollamaShow(Call &call);
void ollamaTags(const Looked &at, http::Responder &responder);
void ollamaRunning(const Looked &at, http::Responder &responder);
// LlamaCpp.cpp
std::optional<ApiError> llamaCompletion(Call &call);
std::optional<ApiError> llamaInfill(Call &call);
void llamaProps(const Looked &at, http::Responder &responder);
void llamaSlots(const Looked &at, http::Responder &responder);
// OpenApi.cpp
void openApi(const Looked &at, http::Responder &responder);     ///< GET /openapi.json
void openApiPage(const Looked &at, http::Responder &responder); ///< GET /docs

} // namespace ingot::api
