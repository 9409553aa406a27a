//===- PlainTools.cpp - Tools as text of messages ----------------------------===//
#include "runtime/server/api/PlainTools.h"

#include "runtime/json/JsonText.h"

#include <simdjson.h>

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

std::string plainToolMessages(std::string_view messages, std::string_view toolsJson) {
  const std::string told = instructions(toolsJson);
  dom::parser parser;
  dom::array list;
  if (parser.parse(simdjson::padded_string(messages)).get(list))
    return std::string(messages); // readMessages wrote it: it is JSON
  JsonText json;
  json.open('[');
  auto write = [&](std::string_view role, std::string_view content) {
    json.open('{').key("role").value(role).key("content").value(content).close();
  };
  bool first = true;
  for (dom::element message : list) {
    std::string_view role, content;
    (void)message["role"].get(role);
    (void)message["content"].get(content);
    if (first && !told.empty()) {
      write("system", role == "system" ? std::string(content) + "\n\n" + told : told);
      first = false;
      if (role == "system")
        continue;
    }
    first = false;
    dom::array calls;
    if (role == "tool")
      write("user", "<tool_response>\n" + std::string(content) + "\n</tool_response>");
    else if (!message["tool_calls"].get(calls))
      write(role, std::string(content) + callsText(calls));
    else
      write(role, content);
  }
  return json.close().text();
}

} // namespace ingot::api
