//===- ReasoningFields.h - Reasoning switches of all APIs -------------------===//
//
// Each API has its own fields for whether a model reasons, for how long, and whether the answer shows
// the reasoning. One table (ReasoningFields.cpp) defines the meaning of each field. Whether and how
// long a model reasons become variables of the chat template. If the template cannot do what a field
// requests, the request is refused with the field's name. Generation::reasoning controls what the
// answer shows.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/ChatAnswer.h"

namespace ingot::api {

/// The APIs; a route accepts the fields of one of them. One bit each.
enum class ReasoningApi : uint8_t { Chat = 1, Responses = 2, Messages = 4, Ollama = 8 };

/// Reads the switches of an API. Call it after readTemplateFields(), because variables from there take precedence, and
/// after readGeneration(). Errors are recorded in the document.
void readReasoning(const Fields &body, ReasoningApi api, ChatInput &input, Generation &generation);

} // namespace ingot::api
