//===- Json.h - Writing JSON ------------------------------------------------===//
//
// Objects are written field by field in the order given. The keys of the command line's
// answers are stable (docs/command-line.md). A number is written as the shortest text that
// parses to the same value. Values that JSON cannot express (NaN, infinities) become null.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::cli {

/// Returns the text as a JSON string, including the quotes.
std::string jsonQuote(std::string_view text);
std::string jsonNumber(double value);

template <typename T> std::string jsonValue(const T &value) {
  if constexpr (std::same_as<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::integral<T>)
    return std::to_string(value);
  else if constexpr (std::floating_point<T>)
    return jsonNumber(static_cast<double>(value));
  else if constexpr (std::convertible_to<T, std::string_view>)
    return jsonQuote(value);
  else { // a range
    std::string text = "[";
    for (const auto &item : value)
      text += (text.size() > 1 ? "," : "") + jsonValue(item);
    return text + "]";
  }
}

class JsonObject {
public:
  template <typename T> JsonObject &field(std::string_view key, const T &value) {
    return raw(key, jsonValue(value));
  }
  /// Adds a field. Its value `json` is written unchanged.
  JsonObject &raw(std::string_view key, std::string_view json);
  std::string str() const { return body.empty() ? "{}" : "{" + body + "}"; }

private:
  std::string body;
};

/// Checks that an option's value is a JSON object. Errors: E0183.
Result<void> checkJsonObject(std::string_view json, const std::string &where,
                             const std::string &fix);

/// Parses an array of ids. Here and below, `where` names the file, or the file and line, in errors.
/// Errors: E0122, exit 3; E0123: an id is outside int32.
Result<std::vector<int32_t>> parseIds(std::string_view json, const std::string &where);

struct PromptLine {
  std::string prompt;
  std::vector<int32_t> ids; ///< used instead of `prompt` if hasIds
  bool hasIds = false;
};
/// Parses {"prompt": "…"} or {"prompt_ids": […]}.
Result<PromptLine> parsePromptLine(std::string_view json, const std::string &where);

struct ChatMessage {
  std::string role, content;
};
/// Parses [{"role": …, "content": …}, …], as written by /save.
Result<std::vector<ChatMessage>> parseMessages(std::string_view json, const std::string &where);
std::string messagesJson(const std::vector<ChatMessage> &messages);

} // namespace ingot::cli
