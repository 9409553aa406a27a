//===- ReasoningFields.h - Reasoning switches of all APIs -------------------===//
//
// Each API has its own names for whether a model reasons, for how long, and whether the reasoning
// is shown. One table (ReasoningFields.cpp) defines the meaning of each name. The first two
// become variables of the chat template. Requests that the template cannot fulfil are refused with
// the field's name. Generation::reasoning controls what the answer shows.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/ChatAnswer.h"

namespace ingot::api {

/// The APIs whose names a route accepts; one bit each.
enum class ReasoningApi : uint8_t { Chat = 1, Responses = 2, Messages = 4, Ollama = 8 };

/// Reads the switches of an API. Call it after readTemplateFields(), whose variables take
/// precedence, and after readGeneration(). The document receives errors.
void readReasoning(const Fields &body, ReasoningApi api, ChatInput &input, Generation &generation);

} // namespace ingot::api
