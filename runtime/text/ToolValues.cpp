//===- ToolValues.cpp - Rules for the values of calls ---------------------===//

#include "runtime/text/ToolValues.h"
#include "runtime/text/ChatOutput.h"
#include "runtime/text/Grammar.h"
#include "runtime/text/Json.h"

#include <algorithm>

namespace ingot::text {

using simdjson::dom::element;

constexpr int kDeepestSchema = 12; ///< for values with their own marks; deeper ones are any text

std::string larkString(std::string_view text) {
  std::string result = jsonString(text);
  for (size_t at; (at = result.find('\x7f')) != std::string::npos;)
    result.replace(at, 1, "\\u007f");
  return result;
}

std::string ToolValues::rule(const std::string &body) {
  std::string name = "r" + std::to_string(count++);
  rules += name + ": " + body + "\n";
  return name;
}

/// Defines a terminal. It consists only of regexes, so that "&" may join them.
std::string ToolValues::terminal(const std::string &body) {
  std::string name = "T" + std::to_string(count++);
  rules += name + ": " + body + "\n";
  return name;
}

/// Returns the id of the special token that the text begins with, and the size of its string.
std::optional<std::pair<int32_t, size_t>> ToolValues::specialAt(std::string_view text) const {
  if (!tokenizer)
    return std::nullopt;
  for (size_t size = std::min<size_t>(text.size(), 64); size > 2; --size)
    if (auto id = tokenizer->idOf(text.substr(0, size)); id && tokenizer->isSpecial(*id))
      return std::pair(*id, size);
  return std::nullopt;
}

/// Returns a mark as Lark: its special tokens as tokens, and the rest as text. A '#' is an id.
std::string ToolValues::mark(std::string_view text, bool ids) const {
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
    if (ids && text.front() == '#') {
      flush();
      lark += "/[0-9A-Za-z]{1,16}/ ";
      text.remove_prefix(1);
      continue;
    }
    // No piece may be a prefix of another piece that is possible in its place. Line feeds and tags are
    // therefore separate pieces.
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

std::string ToolValues::textThrough(const std::string &regex, std::string_view end) {
  std::string name = "r" + std::to_string(count++);
  rules += name + "[suffix=" + larkString(end) + "]: " + regex + "\n";
  return name;
}

std::string ToolValues::textUntil(const std::string &regex, std::string_view end) {
  std::string_view bare = end;
  while (bare.starts_with('\n'))
    bare.remove_prefix(1);
  if (specialAt(bare))
    return terminal(regex) + " " + mark(end);
  // The first part of the mark ends the text; the rest of the mark is fixed.
  size_t first = end.find('>');
  first = first == std::string_view::npos ? end.size() : first + 1;
  for (size_t i = 1; i < first; ++i)
    if (specialAt(end.substr(i))) {
      first = i;
      break;
    }
  return textThrough(regex, end.substr(0, first)) + " " + mark(end.substr(first));
}

std::string ToolValues::otherText(std::string_view text) {
  return terminal("/(?s:.+)/ & ~" + larkString(text));
}

std::string ToolValues::either(std::string all, const std::string &one) {
  return all.empty() ? one : all + " | " + one;
}

// ---------------------------------------------------------------- schemas

/// Returns a self-contained schema, which includes the definitions that its references refer to.
std::string ToolValues::standalone(element schema) const {
  std::string text = simdjson::minify(schema);
  if (shared.empty() || text.size() < 2 || text[0] != '{')
    return text;
  return "{" + (text == "{}" ? shared.substr(0, shared.size() - 1) : shared) + text.substr(1);
}

/// Returns the rule of arguments as one JSON object. For a tool without parameters, the object is empty.
std::string ToolValues::argumentsObject(element parameters, bool given) {
  if (!given || !parameters.is_object() || parameters.get_object().size() == 0)
    return rule("\"{}\"");
  std::string schema = simdjson::minify(parameters);
  if (parameters["type"].error() != simdjson::SUCCESS)
    schema = "{\"type\":\"object\"," + schema.substr(1);
  return rule("%json " + schema);
}

std::vector<ToolValues::Property> ToolValues::propertiesOf(element given) const {
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

/// Returns the rule of properties in the order of the schema. Optional properties may be omitted.
std::string ToolValues::inOrder(const std::vector<Written> &properties) {
  // Build from the last property back. `some` follows if a property was written, and `none` if not.
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

/// Returns the texts that a schema lists, as Lark; empty if it lists none.
std::vector<std::string> ToolValues::listedTexts(element schema) const {
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

/// Returns the alternatives of a pattern, which are separated by each "|" outside all groups.
static std::vector<std::string_view> alternatives(std::string_view pattern) {
  std::vector<std::string_view> all;
  size_t begin = 0;
  int groups = 0;
  bool set = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\')
      ++i;
    else if (set)
      set = c != ']';
    else if (c == '[')
      set = true;
    else if (c == '(' || c == ')')
      groups += c == '(' ? 1 : -1;
    else if (c == '|' && groups == 0) {
      all.push_back(pattern.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  all.push_back(pattern.substr(std::min(begin, pattern.size())));
  return all;
}

/// Returns the regex for a whole text in which a schema's pattern matches anywhere. "^" and "$" apply to
/// the alternative that contains them.
static std::string ofPattern(std::string_view pattern) {
  std::string regex;
  for (std::string_view one : alternatives(pattern)) {
    const bool begins = one.starts_with('^');
    one.remove_prefix(begins);
    bool ends = one.ends_with('$');
    for (size_t i = one.size(); i-- > 1 && one.back() == '$' && one[i - 1] == '\\';)
      ends = !ends; // an escaped "$" is literal
    one.remove_suffix(ends);
    regex += (regex.empty() ? "" : "|") + std::string(begins ? "(" : "(?s:.*)(") +
             std::string(one) + (ends ? ")" : ")(?s:.*)");
  }
  return larkRegex("(?:" + regex + ")");
}

/// Collects the constraints of a string's schema as regexes: pattern, format, length.
static void regexesOf(element schema, std::string &all) {
  auto add = [&](const std::string &regex) { all += (all.empty() ? "" : " & ") + regex; };
  std::string_view pattern, format;
  if (schema["pattern"].get(pattern) == simdjson::SUCCESS)
    add(ofPattern(pattern));
  int64_t least = 0, most = -1;
  (void)schema["minLength"].get(least);
  (void)schema["maxLength"].get(most);
  if (schema["format"].get(format) == simdjson::SUCCESS)
    if (std::string regex = formatPattern(format); !regex.empty())
      add(larkRegex("(?:" + regex + ")"));
  if (least > 0 || most >= 0)
    add("/(?s:.{" + std::to_string(std::max<int64_t>(least, 0)) + "," +
        (most < 0 ? "" : std::to_string(most)) + "})/");
  simdjson::dom::array parts;
  if (schema["allOf"].get(parts) == simdjson::SUCCESS)
    for (element part : parts)
      if (part.is_object())
        regexesOf(part, all);
}

/// Returns the rule of a text and the mark that follows it.
std::string ToolValues::bareText(element schema, std::string_view end) {
  if (!schema.is_object())
    return textUntil(kAnyText, end);
  if (std::vector<std::string> texts = listedTexts(schema); !texts.empty()) {
    std::string any;
    for (const std::string &text : texts)
      any = either(any, larkString(text));
    return rule(any) + " " + mark(end);
  }
  std::string regexes;
  regexesOf(schema, regexes);
  return textUntil(regexes.empty() ? kAnyText : regexes, end);
}

/// Collects the alternatives of a schema that is a union, otherwise the schema itself. Follows
/// references.
void ToolValues::branches(element given, std::vector<element> &parts, int steps) const {
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

/// Returns the schema without strings, which are written bare.
std::string ToolValues::withoutText(element schema, uint8_t types) const {
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
  // Numbers stay integers if the schema allows no other numbers.
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

/// Returns the rule of JSON of a subset of the types that a schema allows.
std::string ToolValues::only(element schema, uint8_t types, uint8_t wanted) {
  return types == wanted ? json(schema) : rule("%json " + withoutText(schema, wanted));
}

// ---------------------------------------------------------------- values with marks

/// Returns the rule of the text after a property's key: the rest of the key's marks, the value, and the
/// mark that ends the value.
std::string ToolValues::markedValue(const Property &property) {
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
      all = either(all, mark(open) + bareText(part, end));
    }
    const uint8_t others = types & ~kText;
    if (!others)
      continue;
    if (how == ValueType::TypeName) {
      for (uint8_t type : {kNull, kBoolean, kNumber, kArray, kObject})
        if (others & type)
          all = either(all,
                       mark(keyEnd(type)) + only(part, types, type) + " " + mark(marks->valueEnd));
    } else {
      all = either(all,
                   mark(keyEnd(others)) + only(part, types, others) + " " + mark(marks->valueEnd));
    }
  }
  return rule(all);
}

std::string ToolValues::markedParameters(element parameters, bool given) {
  std::vector<Written> written;
  if (given)
    for (const Property &property : propertiesOf(parameters)) {
      const std::string text =
          rule(mark(marks->keyOpen) + larkString(property.name) + " " + markedValue(property));
      written.push_back({property.required, text, text});
    }
  return inOrder(written);
}

/// Returns the rule of the keyword arguments in f(a=…, b=…).
std::string ToolValues::keywords(element parameters, bool given) {
  std::vector<Written> written;
  if (given)
    for (const Property &property : propertiesOf(parameters)) {
      const std::string name = std::string(property.name) + "=";
      const std::string value = " " + json(property.schema);
      written.push_back(
          {property.required, larkString(name) + value, larkString(", " + name) + value});
    }
  return inOrder(written);
}

// ---------------------------------------------------------------- values within values

std::string ToolValues::repeated(const std::string &item, const std::string &separator,
                                 element schema) {
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

namespace {
/// Describes how nested values are written, for the same schemas as JSON.
struct Nesting {
  std::string_view open, close, itemsOpen, itemsClose; ///< around keys with values, and around
                                                       ///< items
  std::string_view separator, nameEnd;
  bool tags; ///< each value is between its own tags
};
} // namespace

/// Returns how a syntax nests values. Gemma writes {a:1,b:QUOTE text QUOTE,c:[true]}. MiniMax-M3 writes
/// a tag for each key, and an "item" tag for each value of an array.
static const Nesting &nestingOf(CallSyntax syntax) {
  static constexpr Nesting kGemma{"{", "}", "[", "]", ",", ":", false};
  static constexpr Nesting kElements{"", "", "", "", "", ">", true};
  return syntax == CallSyntax::Elements ? kElements : kGemma;
}

/// Returns the rule of a value and its end. `end`: the closing tag of a value in tags; otherwise empty.
std::string ToolValues::nestedValue(element given, const std::string &end, int depth) {
  const Nesting &how = nestingOf(marks->syntax);
  const std::string textEnd = how.tags ? end : std::string(marks->quote);
  auto enclosed = [&](std::string_view open, const std::string &inside, std::string_view close) {
    return mark(open) + inside + " " + mark(close) + mark(end);
  };
  std::vector<element> parts;
  branches(given, parts);
  std::string all;
  for (element part : parts) {
    const uint8_t types = depth > 0 && part.is_object() ? schemaTypes(part, root) : uint8_t(kText);
    if (types == 0 || types & kText)
      all = either(all, mark(marks->quote) + bareText(part, textEnd));
    if (types & kObject)
      all = either(all, nestedObject(part, depth - 1) + " " + mark(end));
    if (types & kArray) {
      element items;
      const bool typed = part["items"].get(items) == simdjson::SUCCESS;
      const std::string itemEnd = how.tags ? std::string(marks->valueEnd) + "item>" : "";
      std::string item =
          typed ? nestedValue(items, itemEnd, depth - 1)
                : mark(marks->quote) + textUntil(kAnyText, how.tags ? itemEnd : textEnd);
      if (how.tags)
        item = mark(std::string(marks->keyOpen) + "item>") + item;
      all = either(all, enclosed(how.itemsOpen, repeated(rule(item), mark(how.separator), part),
                                 how.itemsClose));
    }
    if (const uint8_t plain = types & (kNull | kBoolean | kNumber))
      all = either(all, only(part, types, plain) + " " + mark(end));
  }
  return rule(all);
}

std::string ToolValues::nestedObject(element schema, int depth) {
  const Nesting &how = nestingOf(marks->syntax);
  std::vector<Written> written;
  for (const Property &property : propertiesOf(schema)) {
    const std::string name = std::string(property.name) + std::string(how.nameEnd);
    const std::string value =
        nestedValue(property.schema, how.tags ? std::string(marks->valueEnd) + name : "", depth);
    const std::string key = std::string(marks->keyOpen) + name;
    written.push_back({property.required, mark(key, false) + value,
                       mark(std::string(how.separator) + key, false) + value});
  }
  return mark(how.open) + inOrder(written) + " " + mark(how.close);
}

// ---------------------------------------------------------------- all arguments of a tool

std::string ToolValues::arguments(element parameters, bool given, CallSyntax syntax) {
  root = given ? parameters : element();
  shared.clear();
  if (given && parameters.is_object())
    for (const char *key : {"$defs", "definitions"})
      if (element definitions; parameters[key].get(definitions) == simdjson::SUCCESS)
        shared += jsonString(key) + ":" + simdjson::minify(definitions) + ",";
  switch (syntax) {
  case CallSyntax::Object:
  case CallSyntax::Json:
    return argumentsObject(parameters, given);
  case CallSyntax::Parameters:
    return markedParameters(parameters, given);
  case CallSyntax::Python:
    return keywords(parameters, given);
  case CallSyntax::Elements:
  case CallSyntax::Gemma:
    return given ? nestedObject(parameters, kDeepestSchema)
                 : mark(nestingOf(marks->syntax).open) + mark(nestingOf(marks->syntax).close);
  }
  return "";
}

std::string ToolValues::anyArguments(CallSyntax syntax) {
  if (syntax == CallSyntax::Parameters)
    return "(" + mark(marks->keyOpen) + textUntil(kAnyText, marks->keyEnd) +
           textUntil(kAnyText, marks->valueEnd) + ")*";
  return rule("%json {\"type\":\"object\"}");
}

} // namespace ingot::text
