//===- ToolSet.cpp - Extracts names and types from tools' schemas ---------===//

#include "runtime/text/ToolSet.h"
#include "runtime/text/SchemaTypes.h"

#include <memory>

namespace ingot::text {

using simdjson::dom::element;

namespace {

/// Limits the depth of references and unions, which may be cyclic.
constexpr int kMostSteps = 32;

/// Decodes "~1" and "~0" of a JSON pointer and "%41" of a fragment.
std::string unescapedPointer(std::string_view token) {
  std::string text;
  auto hex = [](char c) -> int {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  for (size_t i = 0; i < token.size(); ++i)
    if (token[i] == '%' && i + 2 < token.size() && hex(token[i + 1]) >= 0 &&
        hex(token[i + 2]) >= 0) {
      text += char(hex(token[i + 1]) * 16 + hex(token[i + 2]));
      i += 2;
    } else {
      text += token[i];
    }
  for (size_t at = 0; (at = text.find('~', at)) != std::string::npos; ++at)
    if (at + 1 < text.size() && (text[at + 1] == '0' || text[at + 1] == '1'))
      text.replace(at, 2, text[at + 1] == '1' ? "/" : "~");
  return text;
}

element resolvedIn(element schema, element root, int steps) {
  std::string_view ref;
  if (steps <= 0 || !schema.is_object() || schema["$ref"].get(ref) != simdjson::SUCCESS ||
      !ref.starts_with("#"))
    return schema;
  element at = root;
  ref.remove_prefix(1);
  while (ref.starts_with("/")) {
    ref.remove_prefix(1);
    const size_t end = std::min(ref.find('/'), ref.size());
    element next;
    if (!at.is_object() || at[unescapedPointer(ref.substr(0, end))].get(next) != simdjson::SUCCESS)
      return schema;
    at = next;
    ref.remove_prefix(end);
  }
  return resolvedIn(at, root, steps - 1);
}

uint8_t typeNamed(std::string_view name) {
  return name == "string"                        ? kText
         : name == "object"                      ? kObject
         : name == "array"                       ? kArray
         : name == "number" || name == "integer" ? kNumber
         : name == "boolean"                     ? kBoolean
         : name == "null"                        ? kNull
                                                 : 0;
}

uint8_t typeOf(element value) {
  return value.is_string()   ? kText
         : value.is_object() ? kObject
         : value.is_array()  ? kArray
         : value.is_bool()   ? kBoolean
         : value.is_null()   ? kNull
                             : kNumber;
}

uint8_t typesIn(element given, element root, int steps) {
  element schema = resolvedIn(given, root, steps);
  if (steps <= 0 || !schema.is_object())
    return 0;
  uint8_t types = 0;
  element type, list;
  if (schema["type"].get(type) == simdjson::SUCCESS) {
    if (type.is_string())
      return typeNamed(type.get_string().value_unsafe());
    if (type.is_array())
      for (element one : type.get_array())
        if (one.is_string())
          types |= typeNamed(one.get_string().value_unsafe());
    return types;
  }
  if (schema["const"].get(list) == simdjson::SUCCESS)
    return typeOf(list);
  if (schema["enum"].get(list) == simdjson::SUCCESS && list.is_array()) {
    for (element one : list.get_array())
      types |= typeOf(one);
    return types;
  }
  for (const char *key : {"anyOf", "oneOf"})
    if (schema[key].get(list) == simdjson::SUCCESS && list.is_array())
      for (element one : list.get_array())
        types |= typesIn(one, root, steps - 1);
  if (!types && schema["allOf"].get(list) == simdjson::SUCCESS && list.is_array())
    for (element one : list.get_array())
      if (uint8_t part = typesIn(one, root, steps - 1))
        types = types ? types & part : part;
  if (!types && schema["properties"].get(list) == simdjson::SUCCESS)
    types = kObject;
  if (!types && schema["items"].get(list) == simdjson::SUCCESS)
    types = kArray;
  return types;
}

bool propertyIn(element given, element root, std::string_view name, element &found, int steps) {
  element schema = resolvedIn(given, root, steps);
  if (steps <= 0 || !schema.is_object())
    return false;
  element part;
  if (schema["properties"].get(part) == simdjson::SUCCESS && part.is_object() &&
      part[name].get(found) == simdjson::SUCCESS)
    return true;
  for (const char *key : {"anyOf", "oneOf", "allOf"})
    if (schema[key].get(part) == simdjson::SUCCESS && part.is_array())
      for (element one : part.get_array())
        if (propertyIn(one, root, name, found, steps - 1))
          return true;
  return schema["additionalProperties"].get(found) == simdjson::SUCCESS && found.is_object();
}

} // namespace

element resolved(element schema, element root) { return resolvedIn(schema, root, kMostSteps); }
uint8_t schemaTypes(element schema, element root) { return typesIn(schema, root, kMostSteps); }
bool propertySchema(element schema, element root, std::string_view name, element &found) {
  return propertyIn(schema, root, name, found, kMostSteps);
}

namespace {

struct Schemas {
  simdjson::dom::parser parser; ///< owns the data of the elements
  std::vector<std::pair<std::string, element>> parameters;

  uint8_t types(std::string_view tool, std::span<const std::string> path) const {
    auto found = std::ranges::find(parameters, tool, [](auto &one) { return one.first; });
    if (found == parameters.end())
      return 0;
    const element root = found->second;
    element at = root;
    for (const std::string &key : path) {
      at = resolved(at, root);
      if (key == kItems ? !at.is_object() || at["items"].get(at) != simdjson::SUCCESS
                        : !propertySchema(at, root, key, at))
        return 0;
    }
    return schemaTypes(at, root);
  }
};

} // namespace

ToolSet ToolSet::parse(std::string_view toolsJson) {
  ToolSet set;
  auto made = std::make_shared<Schemas>();
  simdjson::dom::array tools;
  if (made->parser.parse(simdjson::padded_string(toolsJson)).get(tools) != simdjson::SUCCESS)
    return set;
  for (element tool : tools) {
    element function, parameters;
    std::string_view name;
    if (tool["function"].get(function) != simdjson::SUCCESS)
      function = tool;
    if (function["name"].get(name) != simdjson::SUCCESS)
      continue;
    set.names.emplace_back(name);
    if (function["parameters"].get(parameters) == simdjson::SUCCESS)
      made->parameters.emplace_back(name, parameters);
  }
  set.typesOf = [made](std::string_view tool, std::span<const std::string> path) {
    return made->types(tool, path);
  };
  return set;
}

} // namespace ingot::text
