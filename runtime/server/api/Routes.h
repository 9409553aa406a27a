//===- Routes.h - What a route is, and which there are ---------------------===//
//
// A route reads a request and either answers it, or hands it to the engine and returns; or says why
// not. Routes that generate run on a thread of their own (Api.cpp): what they do may take a while
// (tokenizing, templates, compiling a grammar).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/AnswerStream.h"

namespace ingot::api {

/// A request of a route with a JSON body, its model found and a place in the queue taken.
struct Call {
  const http::Request *request;
  std::shared_ptr<http::Responder> responder;
  Document document;
  std::optional<Fields> body;
  Generation generation; ///< model and ids are set
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
