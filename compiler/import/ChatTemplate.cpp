//===- ChatTemplate.cpp - One field of tokenizer_config.json --------------===//
//
// On-demand parsing, not a DOM: nearly every tokenizer_config.json has
// "model_max_length": 1000000000000000019884624838656, which no 64-bit parser
// accepts, and we never look at it.
//===----------------------------------------------------------------------===//
#include "compiler/import/ChatTemplate.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/Json.h"

namespace ingot::import {

namespace {

namespace ondemand = simdjson::ondemand;

struct NamedTemplate {
  std::string name, text;
};

Error odd(const std::string &path, std::string why) {
  return refuse(cause::chatTemplate, line(fileName(path), " has an odd chat template"),
                std::move(why),
                "put the template into chat_template.jinja beside it, which is preferred");
}

/// Reads one {"name": …, "template": …}; other fields are skipped.
simdjson::error_code readNamed(ondemand::value item, NamedTemplate &result) {
  ondemand::object object;
  if (auto code = item.get_object().get(object))
    return code;
  for (auto each : object) {
    ondemand::field field;
    if (auto code = std::move(each).get(field))
      return code;
    std::string_view key, text;
    if (auto code = field.unescaped_key().get(key))
      return code;
    std::string *target = key == "name" ? &result.name : key == "template" ? &result.text : nullptr;
    if (!target)
      continue;
    if (auto code = field.value().get_string().get(text))
      return code;
    *target = text;
  }
  return simdjson::SUCCESS;
}

Result<std::string> fromList(ondemand::array list, const std::string &path) {
  std::vector<NamedTemplate> templates;
  for (auto each : list) {
    ondemand::value item;
    NamedTemplate named;
    simdjson::error_code code = std::move(each).get(item);
    if (!code)
      code = readNamed(item, named);
    if (code || named.text.empty())
      return odd(path, line("entry ", templates.size(),
                            " of 'chat_template' is no {\"name\", \"template\"} of strings"));
    templates.push_back(std::move(named));
  }
  for (const NamedTemplate &named : templates)
    if (named.name == "default" || templates.size() == 1)
      return named.text;
  return odd(path, line("'chat_template' lists ", templates.size(), ", none of them 'default'"));
}

Result<std::string> fromValue(ondemand::value value, const std::string &path) {
  ondemand::json_type type;
  if (value.type().get(type))
    return odd(path, "'chat_template' is no JSON value; a string or a list is expected");
  switch (type) {
  case ondemand::json_type::null:
    return std::string();
  case ondemand::json_type::string: {
    std::string_view text;
    if (auto code = value.get_string().get(text))
      return odd(path, line("'chat_template': ", simdjson::error_message(code)));
    return std::string(text);
  }
  case ondemand::json_type::array: {
    ondemand::array list;
    if (auto code = value.get_array().get(list))
      return odd(path, line("'chat_template': ", simdjson::error_message(code)));
    return fromList(list, path);
  }
  default:
    return odd(path, "'chat_template' is neither a string nor a list of 1 or more templates");
  }
}

} // namespace

Result<std::string> chatTemplateIn(const std::string &json, const std::string &path) {
  simdjson::padded_string padded(json);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object root;
  if (auto code = parser.iterate(padded).get(document))
    return jsonError(code, path, json.size());
  if (auto code = document.get_object().get(root))
    return jsonError(code, path, json.size());
  std::string result;
  bool seen = false;
  for (auto each : root) {
    ondemand::field field;
    std::string_view key;
    if (auto code = std::move(each).get(field))
      return jsonError(code, path, json.size());
    if (auto code = field.unescaped_key().get(key))
      return jsonError(code, path, json.size());
    if (key != "chat_template")
      continue;
    if (seen)
      return refuse(cause::keyTwice, "the key 'chat_template' is there twice",
                    line("in ", fileName(path), ", ", json.size(), " bytes"), "remove one of them");
    seen = true;
    Result<std::string> text = fromValue(field.value(), path);
    if (!text)
      return text;
    result = std::move(*text);
  }
  const char *rest; // there is a location only while something is left
  if (document.current_location().get(rest) == simdjson::SUCCESS)
    return jsonError(simdjson::TRAILING_CONTENT, path, json.size());
  return result;
}

} // namespace ingot::import
