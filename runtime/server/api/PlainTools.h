//===- PlainTools.h - Tools for chat templates that know none --------------===//
//
// A template without a variable for tools would leave them out without a word. Then they are told
// in the system message, calls and results stand in the messages' text, and answers are read in the
// format that most small models have seen (Hermes: <tool_call>{"name", "arguments"}</tool_call>).
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace ingot::api {

constexpr const char *kPlainToolFormat = "hermes";

/// Messages (a JSON array, as readMessages gives them) without "tool" roles and "tool_calls".
/// `toolsJson`: the tools that may be called, in OpenAI's shape; or "".
std::string plainToolMessages(std::string_view messages, std::string_view toolsJson);

} // namespace ingot::api
