//===- PlainTools.h - Tools for chat templates that know none --------------===//
//
// A template without a variable for tools would leave them out without a word. Then the prompt says
// itself what they are, calls and results stand in the messages' text, and answers are read in the
// format that most small models have seen (Hermes: <tool_call>{"name", "arguments"}</tool_call>).
//
// The tools are described where the template shows it: in the system message, or before the text of
// the first user message where the template refuses or drops system messages (Gemma 2). Results that
// follow one another are one message, for templates whose roles must alternate.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Text.h"

#include <string>
#include <string_view>

namespace ingot::api {

constexpr const char *kPlainToolFormat = "hermes";

/// Messages (a JSON array, as readMessages gives them) without "tool" roles and "tool_calls", for
/// this template. `toolsJson`: the tools that may be called, in OpenAI's shape; or "".
std::string plainToolMessages(const text::ChatTemplate &own, std::string_view messages,
                              std::string_view toolsJson);

} // namespace ingot::api
