//===- ChatMessages.h - Messages and tools, checked, for a chat template ---===//
//
// What clients send is wider than what templates take: content as a list of parts, arguments of
// tool calls as JSON text, a "developer". Here it becomes the shape that Hugging Face templates are
// written for.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Fields.h"

#include <map>
#include <string>
#include <vector>

namespace ingot::api {

constexpr size_t kMostMessages = 2048, kMostTools = 128;
constexpr size_t kMostContentBytes = 8 << 20;

/// OpenAI's "messages" as a JSON array for ChatTemplate::render. `toolMessages` turns true if there
/// are calls of tools among them, or results. Fields whose value is empty are left out: to clients
/// they mean nothing, and templates ask whether they are there.
std::string readMessages(const Fields &body, bool &toolMessages);

/// Whether the last message is text of the assistant's, with which an answer may go on.
bool endsInAssistantText(const Fields &body);

/// Text of a content field: a string, or a list of parts that are text in OpenAI's or Anthropic's
/// API; images, sound and files are an error. `reasoning`: where parts of it go; null: nowhere.
std::string readContent(const Fields &message, std::string_view name,
                        std::string *reasoning = nullptr);
/// Adds the text of one part, or notes why there is none.
void readPart(const Fields &part, std::string &text, std::string *reasoning);

/// Arguments of a call as a template takes them: JSON text becomes the object, nothing an empty one;
/// text that is no JSON stays a string, so that the model sees what it wrote.
std::string callArguments(std::string_view text);

/// Whether a tool is a function. Those of other types run where their API runs them, and are left
/// out (Fields::leaveOut).
bool isFunctionTool(const Fields &tool);
/// Refuses a tool_choice whose type is that of a tool that is left out; true: it is.
bool choosesLeftOut(const Fields &choice, std::initializer_list<std::string_view> known);
/// The members of an object as JSON, without those that are null or empty.
std::string withoutEmpty(const Fields &object);

struct Tools {
  std::string json;               ///< an array in OpenAI's shape, or ""
  std::vector<std::string> names; ///< that may be called
  std::vector<std::string>
      strict; ///< those whose arguments are bound, also where none must be called
  enum class Choice { None, Auto, Required } choice = Choice::None;
  std::string forced;  ///< the one that must be called; or ""
  std::string allowed; ///< as `json`, of those that may be called; "": all may
  const std::string &callable() const { return allowed.empty() ? json : allowed; }
  /// tool_choice's "allowed_tools": `mode` and the names of some of the tools.
  void allow(const Fields &choice);
  bool parallel = true;
  /// By the name of a tool, the field of the request that holds its schema.
  std::map<std::string, std::string, std::less<>> schemaFields;
};
/// "tools", "tool_choice", "parallel_tool_calls" as OpenAI's chat has them.
Tools readTools(const Fields &body);

} // namespace ingot::api
