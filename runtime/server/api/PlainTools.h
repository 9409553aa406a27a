//===- PlainTools.h - Tools for chat templates without tool support --------===//
//
// A chat template without a variable for tools would silently drop them. For such a template, the
// description of the tools, the calls and the results become text of messages. Answers are read in
// the format that most small models were trained on, Hermes':
// <tool_call>{"name", "arguments"}</tool_call>.
//
// The description goes into the system message, or before the text of the first user message if the
// template refuses or drops system messages (Gemma 2). Consecutive results become one message,
// because in some templates the roles must alternate.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"

#include <string>
#include <string_view>

namespace ingot::api {

constexpr const char *kPlainToolFormat = "hermes";

/// Converts messages (a JSON array from readMessages) to messages without "tool" roles and
/// "tool_calls", for this template. `toolsJson`: the tools that may be called, in OpenAI's format;
/// or "".
std::string plainToolMessages(const text::ChatTemplate &own, std::string_view messages,
                              std::string_view toolsJson);

} // namespace ingot::api
