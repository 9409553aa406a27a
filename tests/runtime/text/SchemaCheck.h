//===- SchemaCheck.h - Validates a text against a JSON schema -------------===//
//
// The check is independent of the code that produces the texts. simdjson parses them, and the keywords that the tests
// use are checked one by one, following the wording of the standard.
//===----------------------------------------------------------------------===//
#pragma once

#include <cmath>
#include <simdjson.h>
#include <string>

namespace schema_check {

using simdjson::dom::element;

inline bool same(element a, element b) {
  if (a.is_number() && b.is_number())
    return a.get_double().value() == b.get_double().value();
  if (a.type() != b.type())
    return false;
  if (a.is_array()) {
    if (a.get_array().size() != b.get_array().size())
      return false;
    auto other = b.get_array().begin();
    for (element item : a.get_array()) {
      if (!same(item, *other))
        return false;
      ++other;
    }
    return true;
  }
  if (a.is_object()) {
    if (a.get_object().size() != b.get_object().size())
      return false;
    for (auto [key, value] : a.get_object())
      if (element other; b[key].get(other) != simdjson::SUCCESS || !same(value, other))
        return false;
    return true;
  }
  return simdjson::minify(a) == simdjson::minify(b);
}

inline bool isType(element value, std::string_view type) {
  if (type == "object")
    return value.is_object();
  if (type == "array")
    return value.is_array();
  if (type == "string")
    return value.is_string();
  if (type == "boolean")
    return value.is_bool();
  if (type == "null")
    return value.is_null();
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS)
    return false;
  return type == "number" || number == std::floor(number);
}

inline size_t characters(std::string_view text) {
  size_t count = 0;
  for (char c : text)
    count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

/// Returns "" if the value is valid, otherwise the keyword that it violates.
inline std::string violation(element root, element schema, element value) {
  if (schema.is_bool())
    return schema.get_bool() ? "" : "false";
  auto number = [&](std::string_view key, auto test) {
    double limit = 0, given = 0;
    return schema[key].get(limit) != simdjson::SUCCESS || value.get(given) != simdjson::SUCCESS ||
           test(given, limit);
  };
  auto count = [&](std::string_view key, auto of, auto test) {
    int64_t limit = 0;
    return schema[key].get(limit) != simdjson::SUCCESS || test(static_cast<int64_t>(of), limit);
  };
  auto atLeast = [](auto a, auto b) { return a >= b; };
  auto atMost = [](auto a, auto b) { return a <= b; };
  element part;
  if (schema["$ref"].get(part) == simdjson::SUCCESS) {
    std::string_view target = std::string_view(part);
    if (std::string inner = violation(root, root.at_pointer(target.substr(1)), value);
        !inner.empty())
      return inner;
  }
  if (schema["type"].get(part) == simdjson::SUCCESS) {
    bool any = false;
    if (part.is_array())
      for (element one : part.get_array())
        any |= isType(value, one);
    else
      any = isType(value, part);
    if (!any)
      return "type";
  }
  if (schema["const"].get(part) == simdjson::SUCCESS && !same(part, value))
    return "const";
  if (schema["enum"].get(part) == simdjson::SUCCESS) {
    bool any = false;
    for (element one : part.get_array())
      any |= same(one, value);
    if (!any)
      return "enum";
  }
  for (std::string_view key : {"anyOf", "oneOf", "allOf"})
    if (schema[key].get(part) == simdjson::SUCCESS) {
      size_t matches = 0;
      for (element one : part.get_array())
        matches += violation(root, one, value).empty();
      if (key == "allOf" ? matches != part.get_array().size() : matches == 0)
        return std::string(key);
    }
  if (!number("minimum", atLeast) || !number("maximum", atMost) ||
      !number("exclusiveMinimum", [](double a, double b) { return a > b; }) ||
      !number("multipleOf", [](double a, double b) { return std::fmod(a, b) == 0; }))
    return "bounds";
  if (value.is_string() && (!count("minLength", characters(value), atLeast) ||
                            !count("maxLength", characters(value), atMost)))
    return "length";
  if (value.is_array()) {
    simdjson::dom::array items = value.get_array();
    if (!count("minItems", items.size(), atLeast) || !count("maxItems", items.size(), atMost))
      return "items' number";
    size_t index = 0, prefix = 0;
    simdjson::dom::array first;
    if (schema["prefixItems"].get(first) == simdjson::SUCCESS)
      prefix = first.size();
    for (element item : items) {
      if (index < prefix) {
        if (std::string inner = violation(root, first.at(index), item); !inner.empty())
          return "prefixItems/" + inner;
      } else if (schema["items"].get(part) == simdjson::SUCCESS) {
        if (std::string inner = violation(root, part, item); !inner.empty())
          return "items/" + inner;
      }
      ++index;
    }
  }
  if (value.is_object()) {
    if (schema["required"].get(part) == simdjson::SUCCESS)
      for (element name : part.get_array())
        if (value[std::string_view(name)].error() != simdjson::SUCCESS)
          return "required";
    for (auto [key, member] : value.get_object()) {
      element known;
      if (schema["properties"][key].get(known) == simdjson::SUCCESS) {
        if (std::string inner = violation(root, known, member); !inner.empty())
          return std::string(key) + "/" + inner;
      } else if (schema["additionalProperties"].get(known) == simdjson::SUCCESS) {
        if (std::string inner = violation(root, known, member); !inner.empty())
          return "additionalProperties";
      }
    }
  }
  return "";
}

/// Shortens numbers outside of strings to 15 digits, since simdjson reads no larger integers.
inline std::string shortNumbers(std::string_view text) {
  std::string result;
  bool quoted = false;
  size_t digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\')
      result += text[i++];
    else if (c == '"')
      quoted = !quoted;
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (i < text.size() && (quoted || digits <= 15))
      result += text[i];
  }
  return result;
}

inline std::string violation(const std::string &schema, const std::string &text) {
  simdjson::dom::parser schemas, texts;
  element asked, given;
  if (schemas.parse(simdjson::padded_string(schema)).get(asked) != simdjson::SUCCESS)
    return "the schema is not JSON";
  if (texts.parse(simdjson::padded_string(shortNumbers(text))).get(given) != simdjson::SUCCESS)
    return "not JSON";
  return violation(asked, asked, given);
}

} // namespace schema_check
