#include "tools/files/Json.h"

#include "runtime/json/JsonText.h"

#include <simdjson.h>

namespace ingot::cli {

std::string jsonQuote(std::string_view text) { return runtime::JsonText().value(text).text(); }

std::string jsonNumber(double value) { return runtime::JsonText().value(value).text(); }

JsonObject &JsonObject::raw(std::string_view key, std::string_view json) {
  if (!body.empty())
    body += ",";
  body += jsonQuote(key) + ":" + std::string(json);
  return *this;
}

namespace {

Error notJson(const std::string &where, std::string why, std::string fix) {
  return {ExitCode::File, "E0122", where + " has unexpected contents", std::move(why),
          std::move(fix)};
}

/// Owns the parsed document.
struct Document {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
};

Result<std::unique_ptr<Document>> parse(std::string_view json, const std::string &where,
                                        const std::string &fix) {
  auto document = std::make_unique<Document>();
  simdjson::padded_string padded(json);
  if (auto error = document->parser.parse(padded).get(document->root))
    return notJson(where, std::string("not valid JSON: ") + simdjson::error_message(error), fix);
  return document;
}

Result<std::vector<int32_t>> idsOf(simdjson::dom::element element, const std::string &where,
                                   const std::string &fix) {
  simdjson::dom::array array;
  if (element.get(array))
    return notJson(where, "not an array of ids", fix);
  std::vector<int32_t> ids;
  ids.reserve(array.size());
  for (simdjson::dom::element item : array) {
    int64_t id = 0;
    if (item.get(id))
      return notJson(where, "item " + std::to_string(ids.size()) + " is not an integer", fix);
    if (id < 0 || id > INT32_MAX)
      return Error{ExitCode::Usage, "E0123", "an id is outside every vocabulary",
                   where + ", item " + std::to_string(ids.size()) + ": " + std::to_string(id), ""};
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

} // namespace

Result<void> checkJsonObject(std::string_view json, const std::string &where,
                             const std::string &fix) {
  auto document = parse(json, where, fix);
  if (document && (*document)->root.is_object())
    return {};
  return Error{ExitCode::Usage, "E0183", where + " is not a JSON object",
               document ? "it is another kind of value" : document.error().why, fix};
}

Result<std::vector<int32_t>> parseIds(std::string_view json, const std::string &where) {
  const std::string fix = "give one JSON array of ids: [504, 3575, 282]";
  auto document = parse(json, where, fix);
  if (!document)
    return document.error();
  return idsOf((*document)->root, where, fix);
}

Result<PromptLine> parsePromptLine(std::string_view json, const std::string &where) {
  const std::string fix = "give one {\"prompt\": \"…\"} or {\"prompt_ids\": […]} per line";
  auto document = parse(json, where, fix);
  if (!document)
    return document.error();
  simdjson::dom::object object;
  if ((*document)->root.get(object))
    return notJson(where, "no JSON object", fix);
  PromptLine line;
  bool hasPrompt = false;
  for (auto [key, value] : object) {
    if (key == "prompt_ids") {
      auto ids = idsOf(value, where, fix);
      if (!ids)
        return ids.error();
      line.ids = std::move(*ids);
      line.hasIds = true;
    } else if (key == "prompt") {
      std::string_view text;
      if (value.get(text))
        return notJson(where, "\"prompt\" is not a string", fix);
      line.prompt = text;
      hasPrompt = true;
    } else {
      return notJson(where, "unknown key \"" + std::string(key) + "\"", fix);
    }
  }
  if (line.hasIds == hasPrompt)
    return notJson(where,
                   hasPrompt ? "both \"prompt\" and \"prompt_ids\""
                             : "neither \"prompt\" nor \"prompt_ids\"",
                   fix);
  return line;
}

Result<std::vector<ChatMessage>> parseMessages(std::string_view json, const std::string &where) {
  const std::string fix =
      "give a file that /save wrote: [{\"role\": \"user\", \"content\": \"…\"}, …]";
  auto document = parse(json, where, fix);
  if (!document)
    return document.error();
  simdjson::dom::array array;
  if ((*document)->root.get(array))
    return notJson(where, "not an array of messages", fix);
  std::vector<ChatMessage> messages;
  for (simdjson::dom::element item : array) {
    std::string_view role, content;
    if (item["role"].get(role) || item["content"].get(content))
      return notJson(
          where, "message " + std::to_string(messages.size()) + " lacks a role or a content", fix);
    if (role != "system" && role != "user" && role != "assistant")
      return notJson(where,
                     "message " + std::to_string(messages.size()) + " has the role " +
                         jsonQuote(role) + "; allowed: system, user and assistant",
                     fix);
    messages.push_back({std::string(role), std::string(content)});
  }
  return messages;
}

std::string messagesJson(const std::vector<ChatMessage> &messages) {
  std::string text = "[";
  for (const ChatMessage &message : messages)
    text += (text.size() > 1 ? "," : "") +
            JsonObject().field("role", message.role).field("content", message.content).str();
  return text + "]";
}

} // namespace ingot::cli
