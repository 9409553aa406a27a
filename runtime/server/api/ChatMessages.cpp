//===- ChatMessages.cpp - Reading messages and tools -----------------------===//
#include "runtime/server/api/ChatMessages.h"

#include "runtime/json/JsonText.h"

#include <algorithm>

namespace ingot::api {

namespace dom = simdjson::dom;
using runtime::JsonText;

std::string readContent(const Fields &message, std::string_view name,
                        std::initializer_list<std::string_view> partTypes) {
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
  for (const Fields &part : message.objects(name, 0, 4096)) {
    part.require("type");
    auto type = part.text("type", 64);
    if (type && std::ranges::find(partTypes, *type) == partTypes.end())
      part.fail("type", "is " + JsonText().value(*type).text() +
                            ": this model takes text alone, no images, sound or files");
    part.require("text");
    if (auto piece = part.text("text", kMostContentBytes))
      text += (text.empty() ? "" : "\n") + std::string(*piece);
  }
  return text;
}

/// Tool calls of an assistant's message, arguments as objects.
static void toolCalls(JsonText &json, const Fields &message) {
  json.key("tool_calls").open('[');
  for (const Fields &call : message.objects("tool_calls", 0, kMostTools)) {
    (void)call.oneOf("type", {"function"});
    call.require("function");
    auto function = call.object("function");
    if (!function)
      continue;
    function->require("name");
    auto name = function->text("name", 256);
    std::string arguments = "{}";
    if (auto given = function->element("arguments")) {
      if (given->is_string()) {
        // JSON text, mostly; where it is not, the model shall see what it wrote.
        std::string_view text = given->get_string().value_unsafe();
        Document inner;
        if (auto object = inner.parse(text))
          arguments = object->json();
        else
          arguments = JsonText().value(text).text();
      } else if (function->object("arguments")) {
        arguments = function->json("arguments");
      }
    }
    json.open('{').key("id").value(call.text("id", 256).value_or("")).key("type").value("function");
    json.key("function").open('{').key("name").value(name.value_or(""));
    json.key("arguments").raw(arguments).close().close();
  }
  json.close();
}

std::string readMessages(const Fields &body, bool &toolMessages) {
  body.require("messages");
  JsonText json;
  json.open('[');
  for (const Fields &message : body.objects("messages", 1, kMostMessages)) {
    message.require("role");
    auto role = message.oneOf("role", {"system", "developer", "user", "assistant", "tool"});
    if (!role)
      break;
    const bool calls = role == "assistant" && message.has("tool_calls");
    if (role != "assistant")
      message.require("content");
    toolMessages |= calls || role == "tool";
    // Templates know no "developer": it is OpenAI's newer name of "system".
    json.open('{').key("role").value(role == "developer" ? "system" : *role);
    json.key("content").value(readContent(message, "content", {"text", "input_text"}));
    if (auto name = message.text("name", 256))
      json.key("name").value(*name);
    if (auto id = message.text("tool_call_id", 256))
      json.key("tool_call_id").value(*id);
    if (auto reasoning = message.text("reasoning_content", kMostContentBytes))
      json.key("reasoning_content").value(*reasoning);
    if (calls)
      toolCalls(json, message);
    json.close();
  }
  return json.close().text();
}

/// The name of a tool, in chat's shape or that of responses.
static std::string nameOf(const Fields &tool) {
  auto function = tool.object("function");
  return std::string((function ? *function : tool).text("name", 64).value_or(""));
}

void Tools::allow(const Fields &chosen, const std::vector<Fields> &all) {
  chosen.require("mode");
  chosen.require("tools");
  auto mode = chosen.oneOf("mode", {"auto", "required"});
  std::vector<std::string> named;
  for (const Fields &one : chosen.objects("tools", 1, kMostTools)) {
    named.push_back(nameOf(one));
    if (std::ranges::find(names, named.back()) == names.end())
      one.fail("", "is none of the tools");
  }
  JsonText json;
  json.open('[');
  dom::parser parser;
  dom::array list;
  if (!parser.parse(simdjson::padded_string(this->json)).get(list)) {
    size_t index = 0;
    for (dom::element tool : list)
      if (index < all.size() && std::ranges::find(named, nameOf(all[index++])) != named.end())
        json.raw(std::string(simdjson::minify(tool)));
  }
  allowed = json.close().text();
  names = std::move(named);
  choice = mode == "required" ? Choice::Required : Choice::Auto;
}

Tools readTools(const Fields &body) {
  Tools tools;
  auto list = body.objects("tools", 0, kMostTools);
  for (const Fields &tool : list) {
    tool.require("type");
    (void)tool.oneOf("type", {"function"});
    tool.require("function");
    auto function = tool.object("function");
    if (!function)
      return tools;
    function->require("name");
    auto name = function->text("name", 64);
    (void)function->text("description", 64 << 10);
    (void)function->object("parameters");
    if (!name)
      return tools;
    if (std::ranges::find(tools.names, *name) != tools.names.end())
      function->fail("name", "is there twice");
    tools.names.emplace_back(*name);
  }
  if (!list.empty()) {
    tools.json = body.json("tools");
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
               named && named->oneOf("type", {"function", "allowed_tools"}) == "allowed_tools") {
      named->require("allowed_tools");
      if (auto chosen = named->object("allowed_tools"))
        tools.allow(*chosen, list);
    } else if (named) {
      auto function = named->object("function");
      if (function)
        function->require("name");
      else
        named->require("function");
      if (auto name = function ? function->text("name", 64) : std::nullopt) {
        if (std::ranges::find(tools.names, *name) == tools.names.end())
          function->fail("name", "is none of the tools");
        tools.choice = Tools::Choice::Required;
        tools.forced = *name;
      }
    }
    if (tools.choice == Tools::Choice::Required && tools.names.empty())
      body.fail("tool_choice", "needs tools");
  }
  tools.parallel = body.boolean("parallel_tool_calls").value_or(true);
  return tools;
}

} // namespace ingot::api
