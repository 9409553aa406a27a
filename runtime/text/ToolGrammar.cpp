//===- ToolGrammar.cpp - A Lark grammar of calls and answers --------------===//
//
//   start: thought? ( calls | answer )
//
// For each tool one rule: its name spelled as the format wants it, its arguments by its JSON
// schema. The text around it is fixed, so that no token is spent on it that could be something
// else. Where a format writes values as bare text, a rule for each property says what may stand
// between its marks: the texts of an enum, JSON of the property's schema, or any text up to the
// mark that ends it.
//===----------------------------------------------------------------------===//

#include "runtime/text/ChatOutput.h"
#include "runtime/text/Json.h"
#include "runtime/text/OutputFormats.h"
#include "runtime/text/SchemaTypes.h"

#include <algorithm>

namespace ingot::text {

namespace {

using simdjson::dom::element;

constexpr int kDeepestSchema = 12; ///< of values with marks of their own; text below

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

/// A property of a tool's parameters.
struct Property {
  std::string_view name;
  element schema;
  bool required;
};

struct Writer {
  const ToolMarks *marks;    ///< null: no calls
  const AnswerMarks *answer; ///< null: the answer is nothing but text
  const Tokenizer *tokenizer;
  std::string rules{};
  int32_t count = 0;
  element root{};       ///< the parameters of the tool at hand
  std::string shared{}; ///< what $ref may point at, as members of an object

  std::string rule(const std::string &body) {
    std::string name = "r" + std::to_string(count++);
    rules += name + ": " + body + "\n";
    return name;
  }

  /// The id of the special token that a text begins with, and its size.
  std::optional<std::pair<int32_t, size_t>> specialAt(std::string_view text) const {
    if (!tokenizer)
      return std::nullopt;
    for (size_t size = std::min<size_t>(text.size(), 64); size > 2; --size)
      if (auto id = tokenizer->idOf(text.substr(0, size)); id && tokenizer->isSpecial(*id))
        return std::pair(*id, size);
    return std::nullopt;
  }

  /// A mark as the vocabulary has it: special tokens as such, the rest as text; '#' is a number.
  std::string mark(std::string_view text) const {
    std::string lark, plain;
    auto flush = [&] {
      if (!plain.empty())
        lark += larkString(plain) + " ";
      plain.clear();
    };
    while (!text.empty()) {
      if (auto special = specialAt(text)) {
        flush();
        lark += "<[" + std::to_string(special->first) + "]> ";
        text.remove_prefix(special->second);
        continue;
      }
      if (text.front() == '#') {
        flush();
        lark += "/[0-9]{1,4}/ ";
        text.remove_prefix(1);
        continue;
      }
      // No text begins another that may stand in its place: line feeds and tags stand alone.
      if (text.front() == '\n' && !plain.empty() && plain.back() != '\n')
        flush();
      const bool ends = text.front() == '>' || (!plain.empty() && plain.back() == '\n') ||
                        (text.front() == '\n' && plain.empty());
      plain += text.front();
      text.remove_prefix(1);
      if (ends && !(text.starts_with('\n') && plain.back() == '\n'))
        flush();
    }
    flush();
    return lark;
  }

  /// Text that matches a regex, up to a mark, and the mark.
  std::string textUntil(const std::string &regex, std::string_view end) {
    std::string_view bare = end;
    while (bare.starts_with('\n'))
      bare.remove_prefix(1);
    if (specialAt(bare))
      return rule(regex) + " " + mark(end);
    // The mark's first part ends the text; what follows it is fixed.
    size_t first = end.find('>');
    first = first == std::string_view::npos ? end.size() : first + 1;
    for (size_t i = 1; i < first; ++i)
      if (specialAt(end.substr(i))) {
        first = i;
        break;
      }
    std::string name = "r" + std::to_string(count++);
    rules += name + "[suffix=" + larkString(end.substr(0, first)) + "]: " + regex + "\n";
    return name + " " + mark(end.substr(first));
  }

  // ---------------------------------------------------------------- schemas

  /// A schema on its own: what its references point at comes with it.
  std::string standalone(element schema) const {
    std::string text = simdjson::minify(schema);
    if (shared.empty() || text.size() < 2 || text[0] != '{')
      return text;
    return "{" + (text == "{}" ? shared.substr(0, shared.size() - 1) : shared) + text.substr(1);
  }

  std::string json(element schema) { return rule("%json " + standalone(schema)); }

  /// The arguments as one JSON object: a tool without parameters takes none.
  std::string argumentsObject(element parameters, bool given) {
    if (!given || !parameters.is_object() || parameters.get_object().size() == 0)
      return rule("\"{}\"");
    std::string schema = simdjson::minify(parameters);
    if (parameters["type"].error() != simdjson::SUCCESS)
      schema = "{\"type\":\"object\"," + schema.substr(1);
    return rule("%json " + schema);
  }

  std::vector<Property> propertiesOf(element given) const {
    element schema = resolved(given, root);
    std::vector<Property> properties;
    simdjson::dom::object all;
    simdjson::dom::array list;
    if (!schema.is_object())
      return properties;
    if (schema["properties"].get(all) == simdjson::SUCCESS)
      for (auto [name, one] : all)
        properties.push_back({name, one, false});
    if (schema["allOf"].get(list) == simdjson::SUCCESS)
      for (element part : list)
        for (Property &property : propertiesOf(part))
          properties.push_back(property);
    if (schema["required"].get(list) == simdjson::SUCCESS)
      for (element name : list)
        for (Property &property : properties)
          property.required |= name.is_string() && property.name == std::string_view(name);
    return properties;
  }

  /// A property as the first one that is written, and behind another.
  struct Written {
    bool required;
    std::string first, next;
  };

  /// Properties in the order of the schema, those that are not required may be left out.
  std::string inOrder(const std::vector<Written> &properties) {
    // From the last one back: what may follow if something was written, and if nothing was.
    std::string some = rule("\"\""), none = some;
    for (size_t i = properties.size(); i-- > 0;) {
      const Written &property = properties[i];
      const bool alike = property.first == property.next && some == none;
      none = rule(property.first + " " + some + (property.required ? "" : " | " + none));
      some =
          alike ? none : rule(property.next + " " + some + (property.required ? "" : " | " + some));
    }
    return none;
  }

  /// Properties of a schema as NAME END value, with a separator before all but the first.
  template <typename Value>
  std::string listed(element schema, std::string_view separator, std::string_view nameEnd,
                     Value value) {
    std::vector<Written> written;
    for (const Property &property : propertiesOf(schema)) {
      const std::string name = std::string(property.name) + std::string(nameEnd);
      const std::string rest = " " + value(property);
      written.push_back({property.required, larkString(name) + rest,
                         larkString(std::string(separator) + name) + rest});
    }
    return inOrder(written);
  }

  /// The texts that a schema lists, as Lark; empty: it lists none.
  std::vector<std::string> listedTexts(element schema) const {
    std::vector<std::string> texts;
    element list;
    if (schema["const"].get(list) == simdjson::SUCCESS && list.is_string())
      texts.emplace_back(list.get_string().value_unsafe());
    if (schema["enum"].get(list) == simdjson::SUCCESS && list.is_array())
      for (element one : list.get_array())
        if (one.is_string())
          texts.emplace_back(one.get_string().value_unsafe());
    return texts;
  }

  /// The regex of a string's schema: its pattern, or its length.
  static std::string regexOf(element schema) {
    std::string_view pattern;
    if (schema["pattern"].get(pattern) == simdjson::SUCCESS) {
      const bool begins = pattern.starts_with('^');
      const bool ends = pattern.ends_with('$') && !pattern.ends_with("\\$");
      pattern = pattern.substr(begins, pattern.size() - begins - ends);
      return larkRegex((begins ? "(" : "(?s:.*)(") + std::string(pattern) +
                       (ends ? ")" : ")(?s:.*)"));
    }
    int64_t least = 0, most = -1;
    (void)schema["minLength"].get(least);
    (void)schema["maxLength"].get(most);
    if (least <= 0 && most < 0)
      return "/(?s:.*)/";
    return "/(?s:.{" + std::to_string(std::max<int64_t>(least, 0)) + "," +
           (most < 0 ? "" : std::to_string(most)) + "})/";
  }

  /// A text and the mark behind it.
  std::string bareText(element schema, std::string_view end) {
    if (std::vector<std::string> texts = listedTexts(schema); !texts.empty()) {
      std::string any;
      for (const std::string &text : texts)
        any += (any.empty() ? "" : " | ") + larkString(text);
      return rule(any) + " " + mark(end);
    }
    return textUntil(regexOf(schema), end);
  }

  /// The parts of a schema that is a union, else the schema alone; references followed.
  void branches(element given, std::vector<element> &parts, int steps = 16) const {
    element schema = resolved(given, root), list;
    if (steps > 0 && schema.is_object())
      for (const char *key : {"anyOf", "oneOf"})
        if (schema[key].get(list) == simdjson::SUCCESS && list.is_array()) {
          for (element one : list.get_array())
            branches(one, parts, steps - 1);
          return;
        }
    parts.push_back(schema);
  }

  std::string or_(std::string all, const std::string &one) const {
    return all.empty() ? one : all + " | " + one;
  }

  /// The schema without its strings, which are written bare.
  std::string withoutText(element schema, uint8_t types) const {
    static constexpr std::pair<uint8_t, const char *> kNames[] = {{kNull, "null"},
                                                                  {kBoolean, "boolean"},
                                                                  {kNumber, "number"},
                                                                  {kArray, "array"},
                                                                  {kObject, "object"}};
    std::string list;
    for (auto [type, name] : kNames)
      if (types & type)
        list += (list.empty() ? "\"" : ",\"") + std::string(name) + "\"";
    element given;
    // Numbers stay integers where the schema has no others.
    if (types & kNumber && schema["type"].get(given) == simdjson::SUCCESS && given.is_array() &&
        std::ranges::none_of(given.get_array().value_unsafe(), [](element one) {
          return one.is_string() && std::string_view(one) == "number";
        }))
      list.replace(list.find("number"), 6, "integer");
    std::string text = "{" + shared + "\"type\":[" + list + "]";
    simdjson::dom::object all;
    if (schema.get(all) == simdjson::SUCCESS)
      for (auto [key, value] : all)
        if (key != "type" && key != "$defs" && key != "definitions")
          text += "," + jsonString(key) + ":" + simdjson::minify(value);
    return text + "}";
  }

  /// JSON of some of the types that a schema allows.
  std::string only(element schema, uint8_t types, uint8_t wanted) {
    return types == wanted ? json(schema) : rule("%json " + withoutText(schema, wanted));
  }

  // ---------------------------------------------------------------- values with marks

  /// What stands behind a property's key: the rest of the key's marks, its value, the mark that
  /// ends it.
  std::string markedValue(const Property &property) {
    std::vector<element> parts;
    branches(property.schema, parts);
    const ValueType how = marks->valueType;
    auto keyEnd = [&](uint8_t type) -> std::string {
      if (how == ValueType::StringFlag)
        return "\" string=\"" + std::string(type == kText ? "true" : "false") + "\"" +
               std::string(marks->keyEnd);
      if (how == ValueType::TypeName)
        return std::string("\" type=\"") +
               (type == kText     ? "string"
                : type == kObject ? "object"
                : type == kArray  ? "array"
                : type == kNumber ? "number"
                : type == kNull   ? "null"
                                  : "boolean") +
               "\"" + std::string(marks->keyEnd);
      return std::string(marks->keyEnd);
    };
    std::string all;
    for (element part : parts) {
      const uint8_t types = part.is_object() ? schemaTypes(part, root) : 0;
      if (types == 0 || types & kText) {
        const std::string open = keyEnd(kText) + std::string(marks->cdata ? kDataOpen : "");
        const std::string end =
            std::string(marks->cdata ? kDataClose : "") + std::string(marks->valueEnd);
        all = or_(all, mark(open) +
                           (part.is_object() ? bareText(part, end) : textUntil("/(?s:.*)/", end)));
      }
      const uint8_t others = types & ~kText;
      if (!others)
        continue;
      if (how == ValueType::TypeName) {
        for (uint8_t type : {kNull, kBoolean, kNumber, kArray, kObject})
          if (others & type)
            all = or_(all,
                      mark(keyEnd(type)) + only(part, types, type) + " " + mark(marks->valueEnd));
      } else {
        all = or_(all,
                  mark(keyEnd(others)) + only(part, types, others) + " " + mark(marks->valueEnd));
      }
    }
    return rule(all);
  }

  std::string markedParameters(element parameters, bool given) {
    std::vector<Written> written;
    if (given)
      for (const Property &property : propertiesOf(parameters)) {
        const std::string text =
            rule(mark(marks->keyOpen) + larkString(property.name) + " " + markedValue(property));
        written.push_back({property.required, text, text});
      }
    return inOrder(written);
  }

  /// f(a=…, b=…)
  std::string keywords(element parameters, bool given) {
    return given ? listed(parameters, ", ", "=",
                          [&](const Property &one) { return json(one.schema); })
                 : rule("\"\"");
  }

  // ---------------------------------------------------------------- values within values

  std::string repeated(const std::string &item, const std::string &separator, element schema) {
    int64_t least = 0, most = -1;
    (void)schema["minItems"].get(least);
    (void)schema["maxItems"].get(most);
    if (most == 0)
      return "\"\"";
    std::string more = "(" + separator + item + ")";
    more += most < 0 && least <= 1 ? "*"
                                   : "{" + std::to_string(std::max<int64_t>(least - 1, 0)) + "," +
                                         (most < 0 ? "" : std::to_string(most - 1)) + "}";
    return least > 0 ? item + " " + more : "(" + item + " " + more + ")?";
  }

  /// {a:1,b:QUOTE text QUOTE,c:[true]}: no JSON, but written for the same schemas.
  std::string gemmaValue(element given, int depth) {
    std::vector<element> parts;
    branches(given, parts);
    std::string all;
    for (element part : parts) {
      const uint8_t types =
          depth > 0 && part.is_object() ? schemaTypes(part, root) : uint8_t(kText);
      if (types == 0 || types & kText)
        all = or_(all,
                  mark(marks->quote) + (part.is_object() ? bareText(part, marks->quote)
                                                         : textUntil("/(?s:.*)/", marks->quote)));
      if (types & kObject)
        all = or_(all, gemmaObject(part, depth - 1));
      if (types & kArray) {
        element items;
        std::string item = part["items"].get(items) == simdjson::SUCCESS
                               ? gemmaValue(items, depth - 1)
                               : rule("%json {\"type\":\"number\"}");
        all = or_(all, "\"[\" " + repeated(item, "\",\" ", part) + " \"]\"");
      }
      if (const uint8_t plain = types & (kNull | kBoolean | kNumber))
        all = or_(all, only(part, types, plain));
    }
    return rule(all);
  }

  std::string gemmaObject(element schema, int depth) {
    return "\"{\" " +
           listed(schema, ",", ":",
                  [&](const Property &one) { return gemmaValue(one.schema, depth); }) +
           " \"}\"";
  }

  /// MiniMax-M3: a tag for each key, an "item" for each value of an array.
  std::string elementValue(element given, const std::string &end, int depth) {
    std::vector<element> parts;
    branches(given, parts);
    std::string all;
    for (element part : parts) {
      const uint8_t types =
          depth > 0 && part.is_object() ? schemaTypes(part, root) : uint8_t(kText);
      if (types == 0 || types & kText)
        all = or_(all, part.is_object() ? bareText(part, end) : textUntil("/(?s:.*)/", end));
      if (types & kObject)
        all = or_(all, elementProperties(part, depth - 1) + " " + mark(end));
      if (types & kArray) {
        element items;
        const std::string itemEnd = endTag("item");
        std::string item =
            mark(std::string(marks->keyOpen) + "item>") +
            (part["items"].get(items) == simdjson::SUCCESS ? elementValue(items, itemEnd, depth - 1)
                                                           : textUntil("/(?s:.*)/", itemEnd));
        all = or_(all, repeated(rule(item), "", part) + " " + mark(end));
      }
      if (const uint8_t plain = types & (kNull | kBoolean | kNumber))
        all = or_(all, only(part, types, plain) + " " + mark(end));
    }
    return rule(all);
  }

  std::string endTag(std::string_view name) const {
    return std::string(marks->valueEnd) + std::string(name) + ">";
  }

  std::string elementProperties(element schema, int depth) {
    std::vector<Written> written;
    for (const Property &property : propertiesOf(schema)) {
      const std::string name(property.name);
      const std::string text = mark(std::string(marks->keyOpen) + name + ">") +
                               elementValue(property.schema, endTag(name), depth);
      written.push_back({property.required, text, text});
    }
    return inOrder(written);
  }

  // ---------------------------------------------------------------- calls

  /// The beginning of a JSON object, cut as a schema's grammar cuts JSON: where another object may
  /// stand in its place, what they have in common decides nothing.
  std::string jsonPieces(std::string_view text) const {
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

  std::string call(std::string_view name, element parameters, bool given) {
    root = given ? parameters : element();
    shared.clear();
    if (given && parameters.is_object())
      for (const char *key : {"$defs", "definitions"})
        if (element definitions; parameters[key].get(definitions) == simdjson::SUCCESS)
          shared += jsonString(key) + ":" + simdjson::minify(definitions) + ",";
    const std::string header =
        answer && !answer->callHeader.empty()
            ? mark(answer->callHeader) + larkString(name) + " " + mark(answer->headerEnd)
            : "";
    const std::string end = mark(marks->close);
    switch (marks->syntax) {
    case CallSyntax::Object: {
      const size_t brace = std::min(marks->open.find('{'), marks->open.size());
      const std::string quoted = jsonString(name);
      std::string head(marks->open.substr(brace));
      head = (head.empty() ? "{\"name\": \"" : head) + quoted.substr(1, quoted.size() - 2) +
             std::string(marks->nameEnd);
      return header + mark(marks->open.substr(0, brace)) + jsonPieces(head) +
             argumentsObject(parameters, given) + " \"}\" " + end;
    }
    case CallSyntax::Json:
      return header + mark(marks->open) + larkString(name) + " " + mark(marks->nameEnd) +
             argumentsObject(parameters, given) + " " + end;
    case CallSyntax::Parameters:
      return header + sectionOf(mark(marks->open) + larkString(name) + " " + mark(marks->nameEnd) +
                                markedParameters(parameters, given) + " " + end);
    case CallSyntax::Elements:
      return header + mark(marks->open) + larkString(name) + " " + mark(marks->nameEnd) +
             (given ? elementProperties(parameters, kDeepestSchema) + " " : "") + end;
    case CallSyntax::Python:
      return header + larkString(std::string(name) + "(") + " " + keywords(parameters, given) +
             " \")\"";
    case CallSyntax::Gemma:
      return header + mark(marks->open) + larkString(name) + " " +
             (given ? gemmaObject(parameters, kDeepestSchema) : "\"{}\"") + " " + end;
    }
    return "";
  }

  std::string sectionOf(const std::string &call) const {
    return marks->sectionEach ? mark(marks->section) + call + " " + mark(marks->sectionEnd) : call;
  }

  /// What a model that reasons may write first; "": it does not reason.
  std::string thought(const OutputFormat &format) {
    if (!answer || format.answerOpen)
      return "";
    const MarkPair pair = answer->thought.open.empty() ? answer->reasoning : answer->thought;
    if (pair.open.empty())
      return "";
    std::string text = textUntil("/(?s:.*)/", pair.close);
    if (!answer->anywhere)
      text += " /\\n{0,3}/ ";
    text += " ";
    return format.reasoningOpen ? text : "(" + mark(pair.open) + text + ")? ";
  }

  /// An answer of the given shape, with the marks around it.
  std::string shaped(const OutputFormat &format, const std::string &body) {
    std::string all = rule(body);
    if (!answer)
      return all;
    if (!answer->answerHeader.empty())
      return mark(answer->answerHeader) + all;
    // The mark that ends it may be missing, and all of them where they are but text.
    std::string any = answer->anywhere ? "" : all;
    for (const MarkPair &pair : answer->answer) {
      if (pair.open.empty() && !format.reasoningOpen)
        continue; // it ends what follows reasoning alone
      const std::string lines = answer->anywhere ? "" : "/\\n?/ ";
      any = or_(any, (format.answerOpen || pair.open.empty() ? "" : mark(pair.open) + lines) + all +
                         " (" + lines + mark(pair.close) + ")?");
    }
    return any.empty() ? all : rule(any);
  }
};

} // namespace

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
  Writer writer{toolMarks(format.tools), answerMarks(format.reasoning), tokenizer};
  std::string start = "start: " + writer.thought(format);
  const std::string answer =
      shape.mustCall || shape.answer.empty() ? "" : writer.shaped(format, shape.answer);
  if (shape.tools.empty())
    return start + answer + "\n" + writer.rules;

  const ToolMarks *marks = writer.marks;
  if (!marks)
    return noGrammar(format.tools.empty() ? "the model's chat template has no format of tool calls"
                                          : "there is no format '" + format.tools + "'");
  simdjson::dom::parser parser;
  simdjson::dom::array tools;
  if (parser.parse(simdjson::padded_string(shape.tools)).get(tools) != simdjson::SUCCESS)
    return badTools("they are not a JSON array");
  std::vector<std::string> calls;
  size_t index = 0;
  for (element tool : tools) {
    element function;
    if (tool["function"].get(function) != simdjson::SUCCESS)
      function = tool;
    std::string_view called;
    if (function["name"].get(called) != simdjson::SUCCESS || called.empty())
      return badTools("tool " + std::to_string(index) + " has no name");
    ++index;
    if (!shape.tool.empty() && called != shape.tool)
      continue;
    element parameters;
    bool given = function["parameters"].get(parameters) == simdjson::SUCCESS;
    calls.push_back(writer.rule(writer.call(called, parameters, given)));
  }
  if (calls.empty())
    return badTools(shape.tool.empty() ? "there are none"
                                       : "none is called '" + std::string(shape.tool) + "'");
  std::string any = calls[0];
  for (size_t i = 1; i < calls.size(); ++i)
    any += " | " + calls[i];
  const std::string one = writer.rule(any);
  std::string all = one;
  if (shape.parallel && !marks->oneCall)
    all += " (" + writer.mark(marks->separator) + one + ")*";
  if (writer.answer && !writer.answer->messageEnds.empty()) {
    std::string ends;
    for (std::string_view end : writer.answer->messageEnds)
      ends = writer.or_(ends, writer.mark(end));
    all += " (" + ends + ")?";
  }
  if (!marks->sectionEach)
    all = writer.mark(marks->section) + all + " " + writer.mark(marks->sectionEnd);
  if (format.answerOpen && writer.answer)
    for (const MarkPair &pair : writer.answer->answer.first(1))
      all = writer.mark(pair.close) + all;
  if (!answer.empty())
    all = writer.rule(all) + " | " + writer.rule(answer);
  return start + (answer.empty() ? all : "(" + all + ")") + "\n" + writer.rules;
}

} // namespace ingot::text
