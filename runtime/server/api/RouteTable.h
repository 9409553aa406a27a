//===- RouteTable.h - The paths of the server and their routes -------------===//
//
// The table has one row per path. Other servers use different names for the same route, or omit
// "/v1"; such aliases have rows of their own with the same route.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Routes.h"

#include <span>

namespace ingot::api {

/// The API that defines the error format of a route.
enum class Dialect : uint8_t {
  OpenAI,
  Anthropic,
  Ollama,
  LlamaCpp,
  Cohere, ///< has "message" next to OpenAI's "error", since vLLM's clients use the same paths
};
std::string errorText(const ApiError &error, Dialect dialect);

/// A route with a JSON body.
struct PostRoute {
  const char *path;
  Route route;
  bool generates; ///< the route generates, so it needs a place in the queue
  Dialect dialect;
  const char *what; ///< description for /openapi.json
};
std::span<const PostRoute> postRoutes();

/// The inputs of a GET route.
struct Looked {
  const http::HttpRequest &request;
  service::ModelRegistry &models;
  const std::string &version;
};
/// A route that answers at once, on the server's thread.
struct GetRoute {
  const char *path;
  void (*answer)(const Looked &at, http::Responder &responder); ///< null: Api answers it
  const char *what;
};
std::span<const GetRoute> getRoutes();

// Routes by file: ChatCompletions.cpp
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
