//===- ChatMessages.h - Messages and tools, checked, for a chat template ---===//
//
// What clients send is wider than what templates take: content as a list of parts, arguments of
// tool calls as JSON text, a "developer". Here it becomes the shape that Hugging Face templates are
// written for.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Fields.h"

#include <string>
#include <vector>

namespace ingot::api {

constexpr size_t kMostMessages = 2048, kMostTools = 128;
constexpr size_t kMostContentBytes = 8 << 20;

/// OpenAI's "messages" as a JSON array for ChatTemplate::render. `toolMessages` turns true if there
/// are calls of tools among them, or results.
std::string readMessages(const Fields &body, bool &toolMessages);

/// Texts of a content field: a string, or a list of parts of which all are text; anything else is
/// an error there. `partTypes`: the type names of text parts.
std::string readContent(const Fields &message, std::string_view name,
                        std::initializer_list<std::string_view> partTypes);

struct Tools {
  std::string json;               ///< an array in OpenAI's shape, or ""
  std::vector<std::string> names; ///< that may be called
  enum class Choice { None, Auto, Required } choice = Choice::None;
  std::string forced;  ///< the one that must be called; or ""
  std::string allowed; ///< as `json`, of those that may be called; "": all may
  const std::string &callable() const { return allowed.empty() ? json : allowed; }
  /// tool_choice's "allowed_tools": `mode` and the names of some of the tools.
  void allow(const Fields &choice, const std::vector<Fields> &all);
  bool parallel = true;
  const char *schemaField = "function.parameters"; ///< of a tool, as the route calls it
};
/// "tools", "tool_choice", "parallel_tool_calls" as OpenAI's chat has them.
Tools readTools(const Fields &body);

} // namespace ingot::api
