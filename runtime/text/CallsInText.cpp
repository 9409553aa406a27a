//===- CallsInText.cpp - A grammar of any text with calls in it -----------===//
//
//   start: ( TEXT | special tokens | opening call )*
//
// Text is free up to the mark that opens calls, in the form that the parser looks for
// (markToFind()). Text and mark are one lexeme, which ends with the first such mark and takes
// precedence over the lexeme of other text. If the mark is a special token, it is its own lexeme.
// After the mark come calls with their fixed text, then text again. If a format has no mark, or one
// that ordinary text may contain as well (a bare object, a fence), a call begins at the name of a
// tool. Reasoning is any text up to its end, and no call is read in it.
//===----------------------------------------------------------------------===//

#include "runtime/text/CallWriter.h"

#include <algorithm>

namespace ingot::text {

/// A mark that opens calls, and the marks that remain after it.
struct CallWriter::Opening {
  std::string_view mark;
  ToolMarks rest;
};

/// Escapes text for use within a regex.
static std::string regexQuoted(std::string_view text) {
  std::string quoted;
  for (char c : text) {
    if (std::string_view("\\.+*?()|[]{}^$-/").find(c) != std::string_view::npos)
      quoted += '\\';
    quoted += c;
  }
  return quoted;
}

/// Returns a rule of all special tokens except `but`; "" if there are none.
std::string CallWriter::specials(const std::vector<int32_t> &but) const {
  std::string ranges;
  const int32_t ids = tokenizer ? tokenizer->vocabSize() : 0;
  auto taken = [&](int32_t id) {
    return id < ids && tokenizer->isSpecial(id) && std::ranges::find(but, id) == but.end();
  };
  for (int32_t id = 0; id < ids; ++id)
    if (taken(id)) {
      const int32_t first = id;
      while (taken(id + 1))
        ++id;
      ranges += (ranges.empty() ? "" : ",") + std::to_string(first) + "-" + std::to_string(id);
    }
  return ranges.empty() ? "" : "<[" + ranges + "]>";
}

std::string CallWriter::plainText() { return rule("/(?s:.+)/"); }

/// Returns whether only the name of a tool distinguishes the format's calls from text.
static bool toldByName(const ToolMarks &marks) {
  return !marks.bare.empty() || marks.messages == "functionary";
}

std::vector<CallWriter::Opening> CallWriter::openings() const {
  std::vector<Opening> all;
  auto add = [&](std::string_view mark, const ToolMarks &rest) {
    const auto special = specialAt(mark);
    const bool known = std::ranges::any_of(all, [&](const Opening &one) {
      return one.mark == mark || (special && specialAt(one.mark) == special);
    });
    if (!mark.empty() && !known)
      all.push_back({mark, rest});
  };
  if (!marks->section.empty()) {
    const std::string_view found = markToFind(marks->section);
    ToolMarks rest = *marks;
    rest.section.remove_prefix(found.size());
    add(found, rest);
    // Calls do not always end with the same token, because the end may be text after the list's bracket.
    rest.sectionEnd = rest.sectionEnd.substr(0, rest.sectionEnd.find(markToFind(rest.sectionEnd)));
    for (std::string_view also : marks->alsoOpen)
      add(also, rest);
  }
  // Add the mark of a single call without a section around it.
  const bool object = marks->syntax == CallSyntax::Object;
  const std::string_view found =
      markToFind(object ? marks->open.substr(0, marks->open.find('{')) : marks->open);
  ToolMarks rest = *marks;
  rest.section = rest.sectionEnd = "";
  rest.open.remove_prefix(found.size());
  add(found, rest);
  if (marks->section.empty())
    for (std::string_view also : marks->alsoOpen)
      add(also, rest);
  return all;
}

/// Returns the rule of an opening mark and the calls that follow it.
std::string CallWriter::opened(const Opening &one, const std::vector<Callable> &tools,
                               bool parallel) {
  const ToolMarks *const whole = std::exchange(marks, &one.rest);
  const AnswerMarks *const headers = std::exchange(answer, nullptr); // headers precede the mark
  // If calls do not form a list, each has its own opening mark.
  const bool list = !one.rest.sectionEnd.empty() && !one.rest.sectionEach;
  const std::string calls = toldByName(*whole) ? namedCalls(tools, /*first=*/false) + "*"
                                               : mark(list ? one.rest.section : "") +
                                                     listed(tools, parallel && list) + " " +
                                                     mark(list ? one.rest.sectionEnd : "");
  marks = whole;
  answer = headers;
  const auto special = specialAt(one.mark);
  if (!special) {
    size_t end = one.mark.size();
    for (size_t i = 1; i < end; ++i)
      if (specialAt(one.mark.substr(i)))
        end = i;
    return rule(textThrough(kAnyText, one.mark.substr(0, end)) + " " + mark(one.mark.substr(end)) +
                calls);
  }
  // Other parts may begin with the same token, so the text up to the next token decides.
  const std::string_view behind = one.mark.substr(special->second);
  size_t text = 0;
  while (text < behind.size() && !specialAt(behind.substr(text)))
    ++text;
  const std::string open = mark(one.mark.substr(0, special->second));
  std::string all = mark(behind) + calls;
  if (text > 0 && text < behind.size())
    all = "(" + larkString(behind.substr(0, text)) + " " + mark(behind.substr(text)) + calls +
          " | " + otherText(behind.substr(0, text)) + " | " + specials({}) + ")";
  return rule(open + all);
}

/// Returns the rule of calls that are recognised by the name of a tool: an object, Python, or a line
/// with the name.
std::string CallWriter::namedCalls(const std::vector<Callable> &tools, bool first) {
  const bool lists = marks->bare.find('[') != std::string_view::npos;
  const bool objects = marks->bare.find('{') != std::string_view::npos;
  const std::string list = first ? "\\s*\\[\\s*" : "[\\s;,\\[]*";
  const std::string object = !first ? list : !lists ? "\\s*" : objects ? "\\s*\\[?\\s*" : list;
  std::string any;
  for (const Callable &tool : tools) {
    const std::string name = regexQuoted(tool.name);
    if (marks->bare.empty()) {
      any = either(any, rule(textThrough(larkRegex(name), "\n") + " " + tool.arguments));
      continue;
    }
    any = either(any,
                 rule(textThrough(larkRegex(object + "\\{\\s*\"name\"\\s*:\\s*\"" + name), "\"") +
                      " " + jsonPieces(", \"parameters\": ") + tool.asObject + " \"}\""));
    if (marks->syntax == CallSyntax::Python)
      any = either(
          any, rule(textThrough(larkRegex(list + name), "(") + " " + tool.arguments + " \")\""));
  }
  return rule(any);
}

/// Returns the rule for formats like Harmony, in which a message's header names its recipient between
/// special tokens.
std::string CallWriter::inMessages(const std::vector<Callable> &tools) {
  const auto body = specialAt(answer->headerEnd);
  std::string any;
  const std::string words = rule("/[ \\n\\t][a-zA-Z \\n\\t]*/");
  const std::string rest = "(" + words + ")? ((" + mark(answer->channel) + "| " +
                           mark(answer->constraint) + ") (/[a-zA-Z \\n\\t]+/)?)* " +
                           mark(answer->headerEnd);
  for (const Callable &tool : tools)
    any = either(any, rule(larkString(tool.name) + " " + rest + tool.arguments));
  const std::string text = plainText();
  const std::string header =
      rule("(" + text + " | " + textThrough(kAnyText, answer->recipient) + " (" +
           larkString(answer->toolPrefix) + ")? (" + any + ")" + ends() + ")?");
  return header + " (" + mark(answer->headerEnd) + "(" + text + ")? | " + specials({body->first}) +
         " " + header + ")*";
}

/// Returns the rule of `items` with reasoning, which is any text up to its end and may be the whole
/// answer.
std::string CallWriter::aroundReasoning(const std::string &items,
                                        const std::vector<int32_t> &openers) {
  const std::string text = plainText();
  auto repeated = [&](const std::string &more, const std::vector<int32_t> &but) {
    const std::string special = specials(but);
    return "(" + text + (special.empty() ? "" : " | " + special) + more + ")*";
  };
  if (!answer || answer->reasoning.open.empty())
    return repeated(items, openers);
  const std::string_view open = markToFind(answer->reasoning.open), close = answer->reasoning.close;
  const auto openId = specialAt(open), closeId = specialAt(close);
  std::vector<int32_t> known = openers;
  if (openId)
    known.push_back(openId->first);
  // The two rules refer to each other.
  const std::string around = "around", thinking = "thinking";
  define(around, repeated(items, known) + (openId ? " (" + mark(open) + thinking + ")?" : ""));
  define(thinking, repeated("", closeId ? std::vector{closeId->first} : std::vector<int32_t>()) +
                       " (" + (closeId ? mark(close) : textThrough(kAnyText, close)) + " " +
                       around + ")?");
  if (format.reasoningOpen)
    return thinking;
  return openId ? around
                : "(" + textThrough("/\\s*/", open) + " " + thinking + " | " + around + ")";
}

std::string CallWriter::anyText(const std::vector<Callable> &tools, bool parallel) {
  if (answer && answer->bodyIsArguments && specialAt(answer->headerEnd))
    return inMessages(tools);
  std::string items;
  std::vector<int32_t> openers;
  std::vector<Opening> all = openings();
  if (marks->messages == "functionary")
    all = {{marks->separator, *marks}};
  for (const Opening &one : all) {
    items += " | " + opened(one, tools, parallel);
    if (auto special = specialAt(one.mark))
      openers.push_back(special->first);
  }
  const std::string around = aroundReasoning(items, openers);
  if (!toldByName(*marks))
    return around;
  return "(" + namedCalls(tools, /*first=*/true) + " " + namedCalls(tools, /*first=*/false) +
         "*)? " + around;
}

} // namespace ingot::text
