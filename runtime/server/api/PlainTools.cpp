//===- PlainTools.cpp - Tools as text of messages ----------------------------===//
#include "runtime/server/api/PlainTools.h"

#include "runtime/json/JsonText.h"

#include <simdjson.h>

#include <algorithm>
#include <vector>

namespace ingot::api {

namespace dom = simdjson::dom;
using runtime::JsonText;

static std::string instructions(std::string_view toolsJson) {
  dom::parser parser;
  dom::array tools;
  std::string text;
  if (toolsJson.empty() || parser.parse(simdjson::padded_string(toolsJson)).get(tools))
    return text;
  text = "You may call functions to answer. They are described here, one JSON object a line:\n"
         "<tools>\n";
  for (dom::element tool : tools)
    text += std::string(simdjson::minify(tool)) + "\n";
  return text + "</tools>\n"
                "To call one, write its name and a JSON object of arguments between marks:\n"
                "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>";
}

static std::string callsText(dom::array calls) {
  std::string text;
  for (dom::element call : calls) {
    dom::element name, arguments;
    if (call["function"]["name"].get(name) || call["function"]["arguments"].get(arguments))
      continue;
    text += "\n<tool_call>\n{\"name\": " + std::string(simdjson::minify(name)) +
            ", \"arguments\": " + std::string(simdjson::minify(arguments)) + "}\n</tool_call>";
  }
  return text;
}

/// Returns whether this template puts a system message into the prompt.
static bool showsSystem(const text::ChatTemplate &own) {
  constexpr const char *kProbe = "ingot asks whether this is shown";
  auto text = own.render({{"system", kProbe}, {"user", "hello"}}, {});
  return text && text->find(kProbe) != std::string::npos;
}

namespace {
struct PlainMessage {
  std::string role, content;
  bool isResult = false;
};
} // namespace

static std::vector<PlainMessage> withoutCalls(dom::array list) {
  std::vector<PlainMessage> plain;
  for (dom::element message : list) {
    std::string_view role, content;
    (void)message["role"].get(role);
    (void)message["content"].get(content);
    dom::array calls;
    if (role == "tool") {
      std::string result = "<tool_response>\n" + std::string(content) + "\n</tool_response>";
      if (!plain.empty() && plain.back().isResult)
        plain.back().content += "\n" + result;
      else
        plain.push_back({"user", std::move(result), true});
    } else if (!message["tool_calls"].get(calls)) {
      plain.push_back({std::string(role), std::string(content) + callsText(calls)});
    } else {
      plain.push_back({std::string(role), std::string(content)});
    }
  }
  return plain;
}

/// Puts the description of the tools into a message that the template shows.
static void instruct(std::vector<PlainMessage> &messages, const text::ChatTemplate &own,
                     const std::string &text) {
  auto user = std::find_if(messages.begin(), messages.end(), [](const PlainMessage &message) {
    return message.role == "user" && !message.isResult;
  });
  if (user != messages.end() && !showsSystem(own))
    user->content = text + "\n\n" + user->content;
  else if (!messages.empty() && messages.front().role == "system")
    messages.front().content += "\n\n" + text;
  else
    messages.insert(messages.begin(), {"system", text});
}

std::string plainToolMessages(const text::ChatTemplate &own, std::string_view messages,
                              std::string_view toolsJson) {
  dom::parser parser;
  dom::array list;
  if (parser.parse(simdjson::padded_string(messages)).get(list))
    return std::string(messages); // does not happen, since readMessages wrote the JSON
  std::vector<PlainMessage> plain = withoutCalls(list);
  if (const std::string text = instructions(toolsJson); !text.empty())
    instruct(plain, own, text);
  JsonText json;
  json.open('[');
  for (const PlainMessage &message : plain)
    json.open('{').key("role").value(message.role).key("content").value(message.content).close();
  return json.close().text();
}

} // namespace ingot::api
