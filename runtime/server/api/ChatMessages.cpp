//===- ChatMessages.cpp - Reading messages and tools -----------------------===//
#include "runtime/server/api/ChatMessages.h"

#include "runtime/json/JsonText.h"

#include <algorithm>

namespace ingot::api {

namespace dom = simdjson::dom;
using runtime::JsonText;

namespace {

/// The use of a content part for a model that reads text.
enum class Use : uint8_t { Text, Reasoning, Nested, Document, None };

struct Part {
  std::string_view type, field;
  Use use;
};
constexpr Part kParts[] = {
    {"text", "text", Use::Text},
    {"input_text", "text", Use::Text},
    {"output_text", "text", Use::Text},
    {"refusal", "refusal", Use::Text},
    {"summary_text", "text", Use::Text},
    {"compaction", "content", Use::Text},
    {"thinking", "thinking", Use::Reasoning},
    {"reasoning", "text", Use::Reasoning},
    {"reasoning_text", "text", Use::Reasoning},
    {"redacted_thinking", "", Use::None},
    {"tool_reference", "", Use::None},
    {"search_result", "content", Use::Nested},
    {"document", "source", Use::Document},
};

void addLine(std::string &text, std::string_view piece) {
  if (!piece.empty())
    text.append(text.empty() ? "" : "\n").append(piece);
}

/// Reads Anthropic's document: a text, or content in a source. Files and URLs are refused.
void readDocument(const Fields &part, std::string &text) {
  addLine(text, part.text("title", kMostContentBytes).value_or(""));
  addLine(text, part.text("context", kMostContentBytes).value_or(""));
  part.require("source");
  auto source = part.object("source");
  if (!source)
    return;
  source->require("type");
  if (auto type = source->text("type", 64); type == "text")
    addLine(text, source->text("data", kMostContentBytes).value_or(""));
  else if (type == "content")
    addLine(text, readContent(*source, "content"));
  else if (type)
    source->fail("type", "is " + JsonText().value(*type).text() +
                             ": this model accepts only text documents");
}

} // namespace

void readPart(const Fields &part, std::string &text, std::string *reasoning) {
  part.require("type");
  auto type = part.text("type", 64);
  if (!type)
    return;
  const auto *found = std::ranges::find(kParts, *type, &Part::type);
  if (found == std::end(kParts))
    return part.fail("type", "is " + JsonText().value(*type).text() +
                                 ": this model accepts only text, no images, audio or files");
  if (found->use == Use::None)
    return;
  if (!part.null(found->field))
    part.require(found->field);
  if (found->use == Use::Document)
    return readDocument(part, text);
  if (found->use == Use::Nested) {
    addLine(text, part.text("title", kMostContentBytes).value_or(""));
    return addLine(text, readContent(part, found->field));
  }
  // Mistral's thinking is a list of parts.
  const auto value = part.element(found->field);
  const std::string piece =
      value && value->is_array()
          ? readContent(part, found->field)
          : std::string(part.text(found->field, kMostContentBytes).value_or(""));
  if (found->use == Use::Text)
    addLine(text, piece);
  else if (reasoning)
    *reasoning += piece;
}

std::string readContent(const Fields &message, std::string_view name, std::string *reasoning) {
  auto found = message.element(name);
  if (!found)
    return "";
  if (found->is_string())
    return std::string(message.text(name, kMostContentBytes).value_or(""));
  if (!found->is_array()) {
    message.fail(name, "must be a string or a list of parts");
    return "";
  }
  std::string text;
  for (const Fields &part : message.objects(name, 0, 4096))
    readPart(part, text, reasoning);
  return text;
}

std::string callArguments(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return "{}";
  Document inner;
  auto object = inner.parse(text);
  return object ? object->json() : JsonText().value(text).text();
}

/// Writes a function's name and arguments in the form that templates expect.
static void functionJson(JsonText &json, const Fields &function) {
  function.require("name");
  json.open('{').key("name").value(function.text("name", 256).value_or("")).key("arguments");
  auto given = function.element("arguments");
  if (given && given->is_string())
    json.raw(callArguments(given->get_string().value_unsafe()));
  else
    json.raw(function.object("arguments") ? function.json("arguments") : "{}");
  json.close();
}

/// Writes the tool calls of an assistant message, with arguments as objects.
static void toolCalls(JsonText &json, const Fields &message) {
  json.key("tool_calls").open('[');
  for (const Fields &call : message.objects("tool_calls", 0, kMostTools)) {
    auto type = call.oneOf("type", {"function", "custom", ""});
    const char *holder = type == "custom" ? "custom" : "function";
    call.require(holder);
    auto function = call.object(holder);
    if (!function)
      continue;
    json.open('{');
    if (auto id = call.text("id", 256); id && !id->empty())
      json.key("id").value(*id);
    json.key("type").value("function").key("function");
    if (type == "custom") { // its input is plain text
      json.open('{').key("name").value(function->text("name", 256).value_or("")).key("arguments");
      json.open('{').key("input").value(function->text("input", kMostContentBytes).value_or(""));
      json.close().close();
    } else {
      functionJson(json, *function);
    }
    json.close();
  }
  if (auto old = message.object("function_call")) { // OpenAI's older name for a single call
    json.open('{').key("type").value("function").key("function");
    functionJson(json, *old);
    json.close();
  }
  json.close();
}

/// Returns whether a field is a non-empty list.
static bool hasItems(const Fields &fields, std::string_view name) {
  auto found = fields.element(name);
  dom::array list;
  return found && (found->get(list) || list.size() > 0); // other types are reported later
}

static bool holdsCalls(const Fields &message) {
  return hasItems(message, "tool_calls") || message.has("function_call");
}

/// Writes one message. Returns false if its role is unknown.
static bool messageJson(JsonText &json, const Fields &message, bool &toolMessages) {
  message.require("role");
  auto role =
      message.oneOf("role", {"system", "developer", "user", "assistant", "tool", "function"});
  if (!role)
    return false;
  const bool assistant = role == "assistant";
  const bool calls = assistant && holdsCalls(message);
  if (!assistant)
    message.require("content");
  toolMessages |= calls || role == "tool" || role == "function";
  std::string reasoning;
  std::string content = readContent(message, "content", &reasoning);
  if (content.empty() && assistant)
    content = message.text("refusal", kMostContentBytes).value_or("");
  // Templates do not support "developer", OpenAI's newer name of "system". "tool" is its newer name
  // of "function".
  json.open('{').key("role").value(role == "developer"  ? "system"
                                   : role == "function" ? "tool"
                                                        : *role);
  json.key("content");
  if (calls && content.empty() && !message.has("content"))
    json.raw("null"); // as transformers does
  else
    json.value(content);
  auto add = [&](const char *field, std::initializer_list<const char *> names, size_t most) {
    for (const char *name : names)
      if (auto text = message.text(name, most); text && !text->empty())
        return (void)json.key(field).value(*text);
  };
  add("name", {"name", "tool_name"}, 256); // the latter is Ollama's
  add("tool_call_id", {"tool_call_id"}, 256);
  if (reasoning.empty()) // vLLM and Ollama use other names
    add("reasoning_content", {"reasoning_content", "reasoning", "thinking"}, kMostContentBytes);
  else
    json.key("reasoning_content").value(reasoning);
  if (calls)
    toolCalls(json, message);
  json.close();
  return true;
}

std::string readMessages(const Fields &body, bool &toolMessages) {
  body.require("messages");
  JsonText json;
  json.open('[');
  for (const Fields &message : body.objects("messages", 1, kMostMessages))
    if (!messageJson(json, message, toolMessages))
      break;
  return json.close().text();
}

bool endsInAssistantText(const Fields &body) {
  const auto list = body.objects("messages", 0, kMostMessages);
  if (list.empty() || list.back().text("role", 64) != "assistant" || holdsCalls(list.back()))
    return false;
  auto content = list.back().element("content");
  if (content && content->is_array())
    for (const Fields &part : list.back().objects("content", 0, 4096)) {
      const auto *known =
          std::ranges::find(kParts, part.text("type", 64).value_or(""), &Part::type);
      if (known == std::end(kParts) || known->use == Use::Nested || known->use == Use::Document)
        return false; // it is a call, or a part that no template shows as assistant text
    }
  return !readContent(list.back(), "content").empty();
}

bool isFunctionTool(const Fields &tool) {
  tool.require("type");
  auto type = tool.text("type", 256);
  if (!type || *type == "function")
    return true;
  tool.leaveOut("", *type);
  return false;
}

bool choosesLeftOut(const Fields &choice, std::initializer_list<std::string_view> known) {
  auto type = choice.text("type", 256);
  if (!type || std::ranges::find(known, *type) != known.end())
    return false;
  choice.fail("type", "is " + JsonText().value(*type).text() +
                          ": server-side tools are not supported; only functions can be called");
  return true;
}

std::string withoutEmpty(const Fields &object) {
  JsonText json;
  json.open('{');
  for (auto [key, value] : object.members()) {
    // Empty "parameters" are kept, because some templates read inside them.
    const std::string written = simdjson::minify(value);
    if (written == "null" || written == "\"\"" || written == "[]" ||
        (written == "{}" && key != "parameters"))
      continue;
    json.key(key);
    if (key == "function" && value.is_object())
      json.raw(withoutEmpty(*object.object(key)));
    else
      json.raw(written);
  }
  return json.close().text();
}

/// Returns the name of a tool in the format of chat or of responses.
static std::string nameOf(const Fields &tool) {
  auto function = tool.object("function");
  return std::string((function ? *function : tool).text("name", 64).value_or(""));
}

void Tools::allow(const Fields &chosen) {
  chosen.require("mode");
  chosen.require("tools");
  auto mode = chosen.oneOf("mode", {"auto", "required"});
  std::vector<std::string> named;
  for (const Fields &one : chosen.objects("tools", 1, kMostTools)) {
    if (auto type = one.text("type", 256); type && *type != "function") {
      one.leaveOut("", *type);
      continue;
    }
    named.push_back(nameOf(one));
    if (std::ranges::find(names, named.back()) == names.end())
      one.fail("", "is not one of the tools");
  }
  if (named.empty())
    chosen.fail("tools", "has no function: server-side tools are not supported");
  JsonText json;
  json.open('[');
  dom::parser parser;
  dom::array list;
  if (!parser.parse(simdjson::padded_string(this->json)).get(list)) {
    size_t index = 0;
    for (dom::element tool : list)
      if (index < names.size() && std::ranges::find(named, names[index++]) != named.end())
        json.raw(std::string(simdjson::minify(tool)));
  }
  allowed = json.close().text();
  names = std::move(named);
  choice = mode == "required" ? Choice::Required : Choice::Auto;
}

Tools readTools(const Fields &body) {
  Tools tools;
  JsonText json;
  json.open('[');
  for (const Fields &tool : body.objects("tools", 0, kMostTools)) {
    if (!isFunctionTool(tool))
      continue;
    tool.require("function");
    auto function = tool.object("function");
    if (!function)
      return tools;
    function->require("name");
    auto name = function->filledText("name", 64);
    (void)function->text("description", 64 << 10);
    (void)function->object("parameters");
    if (!name)
      return tools;
    if (std::ranges::find(tools.names, *name) != tools.names.end())
      function->fail("name", "is a duplicate");
    tools.names.emplace_back(*name);
    tools.schemaFields.emplace(*name, function->path("parameters"));
    if (function->boolean("strict") == true)
      tools.strict.emplace_back(*name);
    json.raw(withoutEmpty(tool));
  }
  if (!tools.names.empty()) {
    tools.json = json.close().text();
    tools.choice = Tools::Choice::Auto;
  }
  if (auto wanted = body.element("tool_choice")) {
    if (wanted->is_string()) {
      auto word = body.oneOf("tool_choice", {"none", "auto", "required"});
      if (word == "none")
        tools.choice = Tools::Choice::None;
      else if (word == "required")
        tools.choice = Tools::Choice::Required;
    } else if (auto named = body.object("tool_choice");
               named && !choosesLeftOut(*named, {"function", "allowed_tools"})) {
      if (named->text("type", 64) == "allowed_tools") {
        named->require("allowed_tools");
        if (auto chosen = named->object("allowed_tools"))
          tools.allow(*chosen);
      } else {
        named->require("function");
        auto function = named->object("function");
        if (function)
          function->require("name");
        if (auto name = function ? function->text("name", 64) : std::nullopt) {
          if (std::ranges::find(tools.names, *name) == tools.names.end())
            function->fail("name", "is not one of the tools");
          tools.choice = Tools::Choice::Required;
          tools.forced = *name;
        }
      }
    }
    if (tools.choice == Tools::Choice::Required && tools.names.empty())
      body.fail("tool_choice", "needs tools");
  }
  tools.parallel = body.boolean("parallel_tool_calls").value_or(true);
  return tools;
}

} // namespace ingot::api
