//===- ChatTemplate.cpp - One field of tokenizer_config.json --------------===//
//
// This file uses simdjson's on-demand parser rather than its DOM. Nearly every tokenizer_config.json has
// "model_max_length": 1000000000000000019884624838656, which is beyond 64 bits, so the DOM parser refuses it. The
// on-demand parser does not parse values that this code does not read.
//===----------------------------------------------------------------------===//
#include "compiler/import/config/ChatTemplate.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/Json.h"

#include <algorithm>

namespace ingot::import {

namespace {

namespace ondemand = simdjson::ondemand;

using Templates = std::vector<NamedTemplate>;

Error odd(const std::string &path, std::string why) {
  return refuse(
      cause::chatTemplate, line(fileName(path), " has an invalid chat template"), std::move(why),
      "put the template into chat_template.jinja in the same folder, which takes precedence");
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
    std::string *target = key == "name"       ? &result.name
                          : key == "template" ? &result.source
                                              : nullptr;
    if (!target)
      continue;
    if (auto code = field.value().get_string().get(text))
      return code;
    *target = text;
  }
  return simdjson::SUCCESS;
}

void add(Templates &templates, NamedTemplate named) {
  auto known = std::ranges::find(templates, named.name, &NamedTemplate::name);
  if (known == templates.end())
    templates.push_back(std::move(named));
  else
    known->source = std::move(named.source);
}

Result<Templates> fromList(ondemand::array list, const std::string &path) {
  Templates templates;
  size_t count = 0;
  for (auto each : list) {
    ondemand::value item;
    NamedTemplate named;
    simdjson::error_code code = std::move(each).get(item);
    if (!code)
      code = readNamed(item, named);
    if (code || named.source.empty())
      return odd(path, line("entry ", count,
                            " of 'chat_template' is not a {\"name\", \"template\"} of strings"));
    add(templates, std::move(named));
    ++count;
  }
  if (templates.empty())
    return odd(path, "'chat_template' lists 0 templates");
  return templates;
}

Result<Templates> fromObject(ondemand::object object, const std::string &path) {
  Templates templates;
  for (auto each : object) {
    ondemand::field field;
    std::string_view name, source;
    simdjson::error_code code = std::move(each).get(field);
    if (!code)
      code = field.unescaped_key().get(name);
    const std::string kept(name); // the next string may overwrite the buffer
    if (!code)
      code = field.value().get_string().get(source);
    if (code)
      return odd(path, line("'chat_template', template ", templates.size(), ": ",
                            simdjson::error_message(code)));
    add(templates, {kept, std::string(source)});
  }
  return templates;
}

Result<Templates> fromValue(ondemand::value value, const std::string &path) {
  ondemand::json_type type;
  simdjson::error_code code = value.type().get(type);
  auto failed = [&] { return odd(path, line("'chat_template': ", simdjson::error_message(code))); };
  if (code)
    return failed();
  switch (type) {
  case ondemand::json_type::null:
    return Templates();
  case ondemand::json_type::string: {
    std::string_view text;
    if ((code = value.get_string().get(text)))
      return failed();
    return text.empty() ? Templates() : Templates{{"default", std::string(text)}};
  }
  case ondemand::json_type::array: {
    ondemand::array list;
    if ((code = value.get_array().get(list)))
      return failed();
    return fromList(list, path);
  }
  case ondemand::json_type::object: {
    ondemand::object object;
    if ((code = value.get_object().get(object)))
      return failed();
    return fromObject(object, path);
  }
  default:
    return odd(path, "'chat_template' is neither a string nor a non-empty list of templates");
  }
}

} // namespace

Result<Templates> chatTemplatesIn(const std::string &json, const std::string &path) {
  simdjson::padded_string padded(json);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object root;
  if (auto code = parser.iterate(padded).get(document))
    return jsonError(code, path, json.size());
  if (auto code = document.get_object().get(root))
    return jsonError(code, path, json.size());
  Templates result;
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
      return refuse(cause::keyTwice, "duplicate key 'chat_template'",
                    line("in ", fileName(path), ", ", json.size(), " bytes"), "remove one of them");
    seen = true;
    Result<Templates> templates = fromValue(field.value(), path);
    if (!templates)
      return templates;
    result = std::move(*templates);
  }
  const char *rest; // a location exists only while input is left
  if (document.current_location().get(rest) == simdjson::SUCCESS)
    return jsonError(simdjson::TRAILING_CONTENT, path, json.size());
  return result;
}

} // namespace ingot::import
