//===- QuantConfig.cpp - See QuantConfig.h ---------------------------------===//
#include "compiler/import/methods/QuantConfig.h"
#include "compiler/import/error/ImportErrors.h"

#include <algorithm>
#include <set>

namespace ingot::import {

const MetaValue *QuantConfig::find(const std::string &key) const {
  const MetaValue *value = builder.metadata(scope + key);
  return value && !std::holds_alternative<std::monostate>(*value) ? value : nullptr;
}

const std::string *QuantConfig::text(const std::string &key) const {
  const MetaValue *value = find(key);
  return value ? std::get_if<std::string>(value) : nullptr;
}

Result<int64_t> QuantConfig::integerOr(const std::string &key, int64_t otherwise) const {
  builder.markUsed(scope + key);
  const MetaValue *value = find(key);
  if (!value)
    return otherwise;
  if (const auto *number = std::get_if<int64_t>(value))
    return *number;
  return unsupported(key, "another type", "an integer");
}

Result<bool> QuantConfig::booleanOr(const std::string &key, bool otherwise) const {
  builder.markUsed(scope + key);
  const MetaValue *value = find(key);
  if (!value)
    return otherwise;
  if (const auto *truth = std::get_if<bool>(value))
    return *truth;
  return unsupported(key, "another type", "true or false");
}

Result<void> QuantConfig::oneOf(const std::string &key,
                                std::initializer_list<std::string_view> texts) const {
  builder.markUsed(scope + key);
  const std::string *found = text(key);
  if (!find(key) || (found && std::ranges::find(texts, *found) != texts.end()))
    return {};
  std::string list;
  for (std::string_view each : texts)
    list += (list.empty() ? "" : ", ") + std::string(each);
  return unsupported(key, found ? inQuotes(*found) : "no text", list);
}

Result<void> QuantConfig::exactly(const std::string &key, bool wanted) const {
  const Result<bool> found = booleanOr(key, wanted);
  if (!found)
    return found.error();
  if (*found == wanted)
    return {};
  return unsupported(key, wanted ? "false" : "true", wanted ? "true" : "false");
}

Result<void> QuantConfig::exactly(const std::string &key, int64_t wanted) const {
  const Result<int64_t> found = integerOr(key, wanted);
  if (!found)
    return found.error();
  if (*found == wanted)
    return {};
  return unsupported(key, line(*found), line(wanted));
}

Result<void> QuantConfig::absent(const std::string &key, std::string_view whatToDo) const {
  const std::string begin = scope + key;
  for (const auto &[name, value] : builder.allMetadata()) {
    if (name != begin && !name.starts_with(begin + "."))
      continue;
    const auto *array = std::get_if<MetaArray>(&value);
    const bool empty =
        std::holds_alternative<std::monostate>(value) ||
        (array && std::visit([](const auto &items) { return items.empty(); }, *array));
    if (!empty)
      return refuse(cause::fp8Config, line("the model's ", inQuotes(begin), " is not supported"),
                    line(inQuotes(name),
                         " is set; weights that are transformed in this way are not supported"),
                    std::string(whatToDo));
    builder.markUsed(name);
  }
  return {};
}

void QuantConfig::harmless(std::initializer_list<std::string_view> patterns) const {
  for (std::string_view pattern : patterns) {
    const bool open = pattern.ends_with('*');
    const std::string begin = scope + std::string(pattern.substr(0, pattern.size() - open));
    for (const auto &[key, value] : builder.allMetadata())
      if (open ? key.starts_with(begin) : key == begin)
        builder.markUsed(key);
  }
}

Result<void> QuantConfig::ownSettings(const std::string &object,
                                      const std::vector<std::string> &modules,
                                      std::string_view whatToDo) const {
  const std::string begin = scope + object + ".";
  for (const auto &[key, value] : builder.allMetadata()) {
    if (!key.starts_with(begin))
      continue;
    const std::string rest = key.substr(begin.size());
    const size_t dot = std::min(rest.rfind('.'), rest.size());
    const std::string module = rest.substr(0, dot),
                      setting = dot < rest.size() ? rest.substr(dot + 1) : "";
    const MetaValue *bits = builder.metadata(begin + module + ".bits"), *all = find(setting);
    const auto *width = bits ? std::get_if<int64_t>(bits) : nullptr;
    const bool leaves = rest.starts_with("-:") || (width && *width >= 16);
    const bool decides =
        setting == "bits" || setting == "group_size" || setting == "sym" || setting == "data_type";
    const bool same = std::holds_alternative<std::monostate>(value) || (all && *all == value);
    if (decides && !leaves && !same && std::ranges::find(modules, module) == modules.end())
      return refuse(cause::fp8Config, line("the model's ", inQuotes(key), " is not supported"),
                    line("it has its own settings for ", inQuotes(module),
                         ", but no quantised module has exactly that name"),
                    std::string(whatToDo));
    builder.markUsed(key);
  }
  return {};
}

std::vector<int64_t> QuantConfig::integers(const std::string &key) const {
  builder.markUsed(scope + key);
  const MetaValue *value = find(key);
  const auto *array = value ? std::get_if<MetaArray>(value) : nullptr;
  const auto *numbers = array ? std::get_if<std::vector<int64_t>>(array) : nullptr;
  return numbers ? *numbers : std::vector<int64_t>();
}

std::vector<std::string> QuantConfig::members(const std::string &object) const {
  std::set<std::string> found;
  const std::string begin = scope + object + ".";
  for (const auto &[key, value] : builder.allMetadata())
    if (key.starts_with(begin))
      found.insert(key.substr(scope.size(), std::min(key.find('.', begin.size()), key.size()) + 1 -
                                                scope.size()));
  return {found.begin(), found.end()};
}

Error QuantConfig::unsupported(const std::string &key, const std::string &found,
                               const std::string &supported) const {
  return refuse(cause::fp8Config, line("the model's ", inQuotes(scope + key), " is not supported"),
                line("found ", found, ", supported: ", supported),
                "use another checkpoint, or quantise the original one: --quantize int4-g64 or fp8");
}

} // namespace ingot::import
