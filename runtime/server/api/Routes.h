//===- Routes.h - The type of a route, and the main routes -----------------===//
//
// A route reads a request and either answers it, submits it to the engine and returns, or returns
// an error. Routes that generate run on the reading threads (Api.cpp), because their work
// (tokenizing, templates, compiling a grammar) may take a while.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/AnswerStream.h"

namespace ingot::api {

/// A request with a JSON body. Its model has been found and its place in the queue reserved.
struct Call {
  const http::HttpRequest *request;
  std::shared_ptr<http::Responder> responder;
  Document document;
  std::optional<Fields> body;
  Generation generation; ///< model, API key and request id are set
  service::Reservation place;
  Post post;
};

using Route = std::optional<ApiError> (*)(Call &call);

std::optional<ApiError> completions(Call &call);     ///< POST /v1/completions
std::optional<ApiError> chatCompletions(Call &call); ///< POST /v1/chat/completions
std::optional<ApiError> messages(Call &call);        ///< POST /v1/messages (Anthropic's)
std::optional<ApiError> countTokens(Call &call);     ///< POST /v1/messages/count_tokens
std::optional<ApiError> responses(Call &call);       ///< POST /v1/responses
std::optional<ApiError> embeddings(Call &call);      ///< POST /v1/embeddings
std::optional<ApiError> tokenize(Call &call);        ///< POST /tokenize
std::optional<ApiError> detokenize(Call &call);      ///< POST /detokenize
std::optional<ApiError> applyTemplate(Call &call);   ///< POST /apply-template

} // namespace ingot::api
