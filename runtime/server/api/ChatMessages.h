//===- ChatMessages.h - Reads and checks messages and tools of a chat ------===//
//
// Clients send more formats than templates accept: content as a list of parts, arguments of tool
// calls as JSON text, a "developer" role. This file converts them to the format that Hugging Face
// templates expect.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/Fields.h"

#include <map>
#include <string>
#include <vector>

namespace ingot::api {

constexpr size_t kMostMessages = 2048, kMostTools = 128;
constexpr size_t kMostContentBytes = 8 << 20;

/// Returns OpenAI's "messages" as a JSON array for ChatTemplate::render. Sets `toolMessages` if
/// they contain tool calls or results. Fields with empty values are left out, because clients mean
/// nothing by them but templates test for their presence.
std::string readMessages(const Fields &body, bool &toolMessages);

/// Returns whether the last message is assistant text, which an answer may continue.
bool endsInAssistantText(const Fields &body);

/// Returns the text of a content field. The field is a string, or a list of text parts of OpenAI's
/// or Anthropic's API. Images, sound and files are an error. `reasoning` receives the reasoning
/// parts; if it is null, they are dropped.
std::string readContent(const Fields &message, std::string_view name,
                        std::string *reasoning = nullptr);
/// Appends the text of one part, or records an error.
void readPart(const Fields &part, std::string &text, std::string *reasoning);

/// Returns a call's arguments in the form that templates expect. JSON text becomes an object, and an
/// empty string becomes an empty object. Invalid JSON stays a string, so that the model sees what it
/// wrote.
std::string callArguments(std::string_view text);

/// Returns whether a tool is a function. Tools of other types run on their API provider's side and
/// are left out (Fields::leaveOut).
bool isFunctionTool(const Fields &tool);
/// Refuses a tool_choice with a type that is not in `known`, because it would choose a tool that was left out. Returns
/// true if it refuses.
bool choosesLeftOut(const Fields &choice, std::initializer_list<std::string_view> known);
/// Returns an object as JSON, without its null and empty members.
std::string withoutEmpty(const Fields &object);

struct Tools {
  std::string json;                ///< an array in OpenAI's shape, or ""
  std::vector<std::string> names;  ///< names of tools that may be called
  std::vector<std::string> strict; ///< tools with arguments that must always match the schema
  enum class Choice { None, Auto, Required } choice = Choice::None;
  std::string forced;  ///< name of the tool that must be called; or ""
  std::string allowed; ///< same as `json`, but only with tools that may be called; "": all may be
  const std::string &callable() const { return allowed.empty() ? json : allowed; }
  /// Reads tool_choice's "allowed_tools": `mode` and the names of some of the tools.
  void allow(const Fields &choice);
  bool parallel = true;
  /// Maps a tool's name to the field of the request that holds its schema.
  std::map<std::string, std::string, std::less<>> schemaFields;
};
/// Reads "tools", "tool_choice" and "parallel_tool_calls" as in OpenAI's chat.
Tools readTools(const Fields &body);

} // namespace ingot::api
