//===- ToolGrammar.cpp - A Lark grammar of calls and answers --------------===//
//
//   start: thought? ( calls | answer )
//
// There is one rule per tool, with its name in the format's spelling and its arguments according to
// its JSON schema (ToolValues.h). The text around them is fixed, so that the model cannot deviate from
// it. If any text is an answer, CallsInText.cpp writes the rules around the calls.
//===----------------------------------------------------------------------===//

#include "runtime/text/CallWriter.h"
#include "runtime/text/Json.h"

#include <algorithm>

namespace ingot::text {

using simdjson::dom::element;

namespace {

Error noGrammar(std::string why) {
  return {ExitCode::Usage, "E0631", "tool calls cannot be forced", std::move(why),
          "use tool_choice \"auto\""};
}

Error badTools(std::string why) {
  return {ExitCode::Usage, "E0632", "no grammar can be built from the tools", std::move(why),
          "tools are [{\"type\": \"function\", \"function\": {\"name\": …, \"parameters\": {…}}}]"};
}

} // namespace

CallWriter::CallWriter(const OutputFormat &format, const Tokenizer *tokenizer)
    : ToolValues(toolMarks(format.tools), tokenizer), format(format),
      answer(answerMarks(format.reasoning)) {}

/// Returns the beginning of a JSON object, cut into the same pieces as in a schema's grammar. If another object may
/// appear in its place, the common beginning of the two objects then does not decide between them.
std::string CallWriter::jsonPieces(std::string_view text) const {
  std::string lark;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      while (end < text.size() && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else {
      while (end < text.size() && text[end] != '"' && text[at] != '{')
        ++end;
    }
    lark += mark(text.substr(at, end - at));
    at = end;
  }
  return lark;
}

Callable CallWriter::callable(std::string_view name, element parameters, bool given, bool bound) {
  const CallSyntax syntax = marks->syntax;
  const bool any = !bound && (syntax == CallSyntax::Object || syntax == CallSyntax::Json ||
                              syntax == CallSyntax::Parameters);
  Callable made{std::string(name),
                rule(any ? anyArguments(syntax) : arguments(parameters, given, syntax))};
  if (!marks->bare.empty())
    made.asObject = syntax == CallSyntax::Object
                        ? made.arguments
                        : rule(bound ? arguments(parameters, given, CallSyntax::Object)
                                     : anyArguments(CallSyntax::Object));
  return made;
}

std::string CallWriter::call(const Callable &tool) const {
  const std::string header =
      answer && !answer->callHeader.empty()
          ? mark(answer->callHeader) + larkString(tool.name) + " " + mark(answer->headerEnd)
          : "";
  const std::string end = mark(marks->close);
  const std::string named =
      mark(marks->open) + larkString(tool.name) + " " + mark(marks->nameEnd) + tool.arguments + " ";
  switch (marks->syntax) {
  case CallSyntax::Object: {
    const size_t brace = std::min(marks->open.find('{'), marks->open.size());
    const std::string quoted = jsonString(tool.name);
    std::string head(marks->open.substr(brace));
    head = (head.empty() ? "{\"name\": \"" : head) + quoted.substr(1, quoted.size() - 2) +
           std::string(marks->nameEnd);
    return header + mark(marks->open.substr(0, brace)) + jsonPieces(head) + tool.arguments +
           " \"}\" " + end;
  }
  case CallSyntax::Parameters:
    return header + sectionOf(named + end);
  case CallSyntax::Python:
    return header + larkString(tool.name + "(") + " " + tool.arguments + " \")\"";
  case CallSyntax::Json:
  case CallSyntax::Elements:
  case CallSyntax::Gemma:
    return header + named + end;
  }
  return "";
}

std::string CallWriter::sectionOf(const std::string &call) const {
  return marks->sectionEach ? mark(marks->section) + call + " " + mark(marks->sectionEnd) : call;
}

/// Returns the rule of calls without the marks around all of them.
std::string CallWriter::listed(const std::vector<Callable> &tools, bool parallel) {
  std::string any;
  for (const Callable &tool : tools)
    any = either(any, rule(call(tool)));
  const std::string one = rule(any);
  return parallel && !marks->oneCall ? one + " (" + mark(marks->separator) + one + ")*" : one;
}

/// Returns the rule of the possible ends of a message; "" if the format has none.
std::string CallWriter::ends() const {
  std::string any;
  if (answer)
    for (std::string_view end : answer->messageEnds)
      any = either(any, mark(end));
  return any.empty() ? "" : " (" + any + ")?";
}

std::string CallWriter::calls(const std::vector<Callable> &tools, bool parallel) {
  std::string all = listed(tools, parallel) + ends();
  if (!marks->sectionEach)
    all = mark(marks->section) + all + " " + mark(marks->sectionEnd);
  if (format.answerOpen && answer)
    for (const MarkPair &pair : answer->answer.first(1))
      all = mark(pair.close) + all;
  return all;
}

/// Returns the rule of the reasoning that a model may write first; "" if the model does not reason.
std::string CallWriter::thought() {
  if (!answer || format.answerOpen)
    return "";
  const MarkPair pair = answer->thought.open.empty() ? answer->reasoning : answer->thought;
  if (pair.open.empty())
    return "";
  std::string text = textUntil(kAnyText, pair.close);
  if (!answer->anywhere)
    text += " /\\n{0,3}/ ";
  text += " ";
  return format.reasoningOpen ? text : "(" + mark(pair.open) + text + ")? ";
}

/// Returns the rule of an answer with the given body, and the marks around it.
std::string CallWriter::shaped(const std::string &body) {
  std::string all = rule(body);
  if (!answer)
    return all;
  if (!answer->answerHeader.empty())
    return mark(answer->answerHeader) + all;
  // The end mark may be missing. If the marks are only text, all of them may be missing.
  std::string any = answer->anywhere ? "" : all;
  for (const MarkPair &pair : answer->answer) {
    if (pair.open.empty() && !format.reasoningOpen)
      continue; // this mark only ends text that follows reasoning
    const std::string lines = answer->anywhere ? "" : "/\\n?/ ";
    any = either(any, (format.answerOpen || pair.open.empty() ? "" : mark(pair.open) + lines) +
                          all + " (" + lines + mark(pair.close) + ")?");
  }
  return any.empty() ? all : rule(any);
}

std::string larkRegex(std::string_view regex) {
  std::string lark = "/";
  for (size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '/' && (i == 0 || regex[i - 1] != '\\'))
      lark += '\\';
    lark += regex[i] == '\n' ? "\\n" : std::string(1, regex[i]);
  }
  return lark + "/";
}

Result<std::string> answerGrammar(const OutputFormat &format, const AnswerShape &shape,
                                  const Tokenizer *tokenizer) {
  CallWriter writer(format, tokenizer);
  auto whole = [&](const std::string &body) { return "start: " + body + "\n" + writer.allRules(); };
  const std::string thought = shape.anyText ? "" : writer.thought();
  const std::string answer =
      shape.mustCall || shape.answer.empty() ? "" : writer.shaped(shape.answer);
  if (shape.tools.empty())
    return whole(thought + answer);
  if (!writer.hasCalls())
    return noGrammar(format.tools.empty() ? "the model's chat template has no format for tool calls"
                                          : "unknown format '" + format.tools + "'");
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(simdjson::padded_string(shape.tools)).get(list) != simdjson::SUCCESS)
    return badTools("they are not a JSON array");
  std::vector<Callable> tools;
  size_t index = 0;
  for (element tool : list) {
    element function, parameters;
    if (tool["function"].get(function) != simdjson::SUCCESS)
      function = tool;
    std::string_view called;
    if (function["name"].get(called) != simdjson::SUCCESS || called.empty())
      return badTools("tool " + std::to_string(index) + " has no name");
    ++index;
    if (!shape.tool.empty() && called != shape.tool)
      continue;
    const bool given = function["parameters"].get(parameters) == simdjson::SUCCESS;
    bool strict = false;
    (void)function["strict"].get(strict);
    tools.push_back(writer.callable(called, parameters, given, strict || !shape.anyText));
  }
  if (tools.empty())
    return badTools(shape.tool.empty() ? "no tools were given"
                                       : "no tool is named '" + std::string(shape.tool) + "'");
  if (shape.anyText)
    return whole(writer.anyText(tools, shape.parallel));
  const std::string calls = writer.calls(tools, shape.parallel);
  if (answer.empty())
    return whole(thought + calls);
  return whole(thought + "(" + writer.rule(calls) + " | " + writer.rule(answer) + ")");
}

} // namespace ingot::text
