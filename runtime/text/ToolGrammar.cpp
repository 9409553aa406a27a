//===- ToolGrammar.cpp - A Lark grammar that forces tool calls ------------===//
//
// For each tool one rule: its name spelled as the format wants it, its arguments by its JSON
// schema. The text around it is fixed, so that no token is spent on it that could be something
// else.
//===----------------------------------------------------------------------===//

#include "runtime/text/ChatOutput.h"
#include "runtime/text/Json.h"
#include "runtime/text/OutputFormats.h"

#include <simdjson.h>

namespace ingot::text {

namespace {

using simdjson::dom::element;

Error noGrammar(std::string why) {
  return {ExitCode::Usage, "E0631", "tool calls cannot be forced", std::move(why),
          "use tool_choice \"auto\""};
}

Error badTools(std::string why) {
  return {ExitCode::Usage, "E0632", "the tools are not what a grammar can be made of",
          std::move(why),
          "tools are [{\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": {…}}}]"};
}

/// Lark's strings are JSON's, with DEL escaped.
std::string larkString(std::string_view text) {
  std::string result = jsonString(text);
  for (size_t at; (at = result.find('\x7f')) != std::string::npos;)
    result.replace(at, 1, "\\u007f");
  return result;
}

struct Writer {
  ToolMarks marks;
  const Tokenizer *tokenizer;
  std::string rules;
  int32_t count = 0;

  /// A mark as the vocabulary has it: its own token, or text.
  std::string mark(std::string_view text) const {
    if (text.empty())
      return "";
    if (tokenizer)
      if (auto id = tokenizer->idOf(text); id && tokenizer->isSpecial(*id))
        return "<[" + std::to_string(*id) + "]> ";
    return larkString(text) + " ";
  }

  std::string rule(const std::string &body) {
    std::string name = "r" + std::to_string(count++);
    rules += name + ": " + body + "\n";
    return name;
  }

  /// An object's schema: a tool without parameters takes none.
  std::string arguments(element parameters, bool given) {
    if (!given || !parameters.is_object() || parameters.get_object().size() == 0)
      return rule("\"{}\"");
    std::string schema = simdjson::minify(parameters);
    if (parameters["type"].error() != simdjson::SUCCESS)
      schema = "{\"type\":\"object\"," + schema.substr(1);
    return rule("%json " + schema);
  }

  /// f(a=…, b=…): names in the order of the schema, those that are not required may be left out.
  std::string keywords(element parameters, bool given) {
    struct Property {
      std::string_view name;
      element schema;
      bool required;
    };
    std::vector<Property> properties;
    std::string shared; // what $ref may point at
    if (given) {
      simdjson::dom::object all;
      if (parameters["properties"].get(all) == simdjson::SUCCESS)
        for (auto [name, schema] : all)
          properties.push_back({name, schema, false});
      simdjson::dom::array required;
      if (parameters["required"].get(required) == simdjson::SUCCESS)
        for (element name : required)
          for (Property &property : properties)
            property.required |= name.is_string() && property.name == std::string_view(name);
      for (const char *key : {"$defs", "definitions"})
        if (element definitions; parameters[key].get(definitions) == simdjson::SUCCESS)
          shared += jsonString(key) + ":" + simdjson::minify(definitions) + ",";
    }
    // From the last one back: what may follow if something was written, and if nothing was.
    std::string some = rule("\"\""), none = some;
    for (size_t i = properties.size(); i-- > 0;) {
      std::string schema = simdjson::minify(properties[i].schema);
      if (!shared.empty() && schema.size() > 1 && schema[0] == '{')
        schema = "{" + (schema == "{}" ? shared.substr(0, shared.size() - 1) : shared) +
                 schema.substr(1);
      std::string value = rule("%json " + schema);
      std::string name = std::string(properties[i].name) + "=";
      std::string skip = properties[i].required ? "" : " | ";
      std::string first =
          rule(larkString(name) + " " + value + " " + some + (skip.empty() ? "" : skip + none));
      some = rule(larkString(", " + name) + " " + value + " " + some +
                  (skip.empty() ? "" : skip + some));
      none = first;
    }
    return none;
  }

  /// What a model that reasons may write first; "": it does not reason.
  std::string thought(const OutputFormat &format) {
    const ReasoningMarks *reasoning = reasoningMarks(format.reasoning);
    if (!reasoning)
      return "";
    std::string close = mark(reasoning->close);
    bool special = close.starts_with("<[");
    rules += special ? "thought: /(?s:.*)/\n"
                     : "thought[suffix=" + larkString(reasoning->close) + "]: /(?s:.*)/\n";
    std::string text = (special ? "thought " + close : "thought ") + "\"\\n\\n\"? ";
    return format.reasoningOpen ? text : "(" + mark(reasoning->open) + text + ")? ";
  }

  std::string call(std::string_view name, element parameters, bool given) {
    switch (marks.shape) {
    case CallShape::Json:
      return larkString("{\"name\": " + jsonString(name) + ", \"" +
                        std::string(marks.argumentsKey) + "\": ") +
             " " + arguments(parameters, given) + " \"}\"";
    case CallShape::Named:
      return larkString(name) + " " + mark("[ARGS]") + arguments(parameters, given);
    case CallShape::Python:
      return larkString(std::string(name) + "(") + " " + keywords(parameters, given) + " \")\"";
    case CallShape::Unsupported:
      break;
    }
    return "";
  }
};

} // namespace

Result<ToolGrammar> toolGrammar(const OutputFormat &format, std::string_view toolsJson,
                                std::string_view name, bool parallel, const Tokenizer *tokenizer) {
  const ToolMarks *marks = toolMarks(format.tools);
  if (!marks)
    return noGrammar(format.tools.empty() ? "the model's chat template has no format of tool calls"
                                          : "there is no format '" + format.tools + "'");
  if (marks->shape == CallShape::Unsupported)
    return noGrammar("the arguments of the format " + format.tools + " are not JSON");
  simdjson::dom::parser parser;
  simdjson::dom::array tools;
  if (parser.parse(simdjson::padded_string(toolsJson)).get(tools) != simdjson::SUCCESS)
    return badTools("they are not a JSON array");

  Writer writer{*marks, tokenizer, {}};
  std::vector<std::string> calls;
  for (element tool : tools) {
    element function;
    if (tool["function"].get(function) != simdjson::SUCCESS)
      function = tool;
    std::string_view called;
    if (function["name"].get(called) != simdjson::SUCCESS || called.empty())
      return badTools("tool " + std::to_string(calls.size()) + " has no name");
    if (!name.empty() && called != name)
      continue;
    element parameters;
    bool given = function["parameters"].get(parameters) == simdjson::SUCCESS;
    calls.push_back(writer.rule(writer.call(called, parameters, given)));
  }
  if (calls.empty())
    return badTools(name.empty() ? "there are none" : "none is called '" + std::string(name) + "'");
  std::string any = calls[0];
  for (size_t i = 1; i < calls.size(); ++i)
    any += " | " + calls[i];
  any = writer.rule(any);

  bool fenced =
      !marks->prefix.text.empty() && !marks->prefix.hidden && marks->prefix.text.size() > 1;
  bool array = marks->shape == CallShape::Json && !marks->prefix.text.empty();
  std::string one = any;
  if (!marks->before.text.empty()) {
    bool lines = !marks->after.text.empty();
    one = writer.mark(marks->before.text) + (lines ? "\"\\n\" " : "") + any +
          (lines ? " \"\\n\" " + writer.mark(marks->after.text) : "");
    one = writer.rule(one);
  }
  std::string all = one;
  if (parallel)
    all += " (" + (marks->separator.empty() ? "" : larkString(marks->separator) + " ") + one + ")*";
  all = writer.mark(marks->prefix.text) +
        (array    ? "\"[\" "
         : fenced ? "\"\\n\" "
                  : "") +
        all + (fenced ? " \"\\n\" " : " ") + writer.mark(marks->suffix.text);

  std::string start = "start: " + writer.thought(format) + all + "\n";
  return ToolGrammar{start + writer.rules};
}

std::string reasoningThenJson(const OutputFormat &format, std::string_view schema,
                              const Tokenizer *tokenizer) {
  Writer writer{ToolMarks{}, tokenizer, {}};
  std::string start = "start: " + writer.thought(format) + "answer\n";
  std::string_view answer = schema.empty() ? "{\"type\":\"object\"}" : schema;
  return start + writer.rules + "answer: %json " + std::string(answer) + "\n";
}

} // namespace ingot::text
