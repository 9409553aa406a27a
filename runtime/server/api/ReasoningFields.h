//===- ReasoningFields.h - Switches for reasoning, of all APIs --------------===//
//
// Each API has names of its own for whether a model reasons, how long, and whether the reasoning is
// shown. One table (ReasoningFields.cpp) says what each of them asks for. Whether and how long
// become variables of the chat template; what its template cannot do is refused by the field's
// name, and what the answer shows is settled by Generation::reasoning.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/ChatAnswer.h"

namespace ingot::api {

/// Whose names a route takes; one bit each.
enum class ReasoningApi : uint8_t { Chat = 1, Responses = 2, Messages = 4, Ollama = 8 };

/// Reads the switches of an API; after readTemplateFields(), whose variables win, and after
/// readGeneration(). Errors are the document's.
void readReasoning(const Fields &body, ReasoningApi api, ChatInput &input, Generation &generation);

} // namespace ingot::api
