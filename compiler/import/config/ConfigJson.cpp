//===- ConfigJson.cpp - Flattens JSON to keys and values ----------------===//
#include "compiler/import/config/ConfigJson.h"
#include "compiler/import/error/ImportErrors.h"
#include "compiler/import/files/Json.h"

#include <algorithm>

namespace ingot::import {

namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr size_t kMaxKeys = 65536, kMaxKey = 1024;
constexpr std::string_view kPythonNumbers[] = {"NaN", "Infinity", "-Infinity"};

Error outOfRange(const std::string &key, uint64_t value) {
  return refuse(cause::integerRange, line("the value of ", inQuotes(key), " is too large"),
                line(value, " is beyond 9223372036854775807"), "correct config.json");
}

/// Returns the kind that all elements share, or NULL_VALUE if there is no common kind. INT64 and DOUBLE together are
/// DOUBLE.
element_type commonKind(simdjson::dom::array array) {
  bool first = true;
  element_type kind = element_type::INT64; // also for an empty array
  for (element value : array) {
    element_type found = value.type();
    if (found == element_type::UINT64)
      found = element_type::INT64;
    if (found == element_type::OBJECT || found == element_type::ARRAY)
      return element_type::NULL_VALUE;
    bool numbers = (found == element_type::INT64 || found == element_type::DOUBLE) &&
                   (kind == element_type::INT64 || kind == element_type::DOUBLE);
    if (first)
      kind = found;
    else if (found != kind && numbers)
      kind = element_type::DOUBLE;
    else if (found != kind)
      return element_type::NULL_VALUE;
    first = false;
  }
  return kind;
}

class Flattener {
public:
  Flattener(const std::string &path, CheckpointBuilder &builder) : path(path), builder(builder) {}

  Result<void> value(const std::string &key, element found);

private:
  Result<void> add(const std::string &key, MetaValue value);
  Result<void> array(const std::string &key, simdjson::dom::array array);

  const std::string &path;
  CheckpointBuilder &builder;
  size_t keys = 0;
};

Result<void> Flattener::add(const std::string &key, MetaValue value) {
  if (++keys > kMaxKeys)
    return refuse(cause::tooManyKeys, line(fileName(path), " has too many keys"),
                  line("more than ", kMaxKeys, " after flattening"),
                  "download it again: this is not a model's configuration");
  return builder.addMetadata(key, std::move(value));
}

Result<void> Flattener::array(const std::string &key, simdjson::dom::array array) {
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> strings;
  std::vector<bool> booleans;
  element_type kind = commonKind(array);
  size_t index = 0;
  for (element item : array) {
    switch (kind) {
    case element_type::INT64:
      if (item.type() == element_type::UINT64)
        return outOfRange(key, item.get_uint64().value_unsafe());
      integers.push_back(item.get_int64().value_unsafe());
      break;
    case element_type::DOUBLE:
      numbers.push_back(item.get_double().value_unsafe());
      break;
    case element_type::STRING:
      strings.emplace_back(item.get_string().value_unsafe());
      break;
    case element_type::BOOL:
      booleans.push_back(item.get_bool().value_unsafe());
      break;
    default:
      if (Result<void> added = value(key + '.' + std::to_string(index), item); !added)
        return added;
    }
    ++index;
  }
  switch (kind) {
  case element_type::INT64:
    return add(key, MetaArray(std::move(integers)));
  case element_type::DOUBLE:
    return add(key, MetaArray(std::move(numbers)));
  case element_type::STRING:
    return add(key, MetaArray(std::move(strings)));
  case element_type::BOOL:
    return add(key, MetaArray(std::move(booleans)));
  default:
    return {};
  }
}

Result<void> Flattener::value(const std::string &key, element found) {
  if (key.size() > kMaxKey)
    return refuse(cause::keyLong, line(fileName(path), " has a key that is too long"),
                  line(key.size(), " bytes, at most ", kMaxKey, ": ", inQuotes(key)),
                  "download it again: this is not a model's configuration");
  switch (found.type()) {
  case element_type::OBJECT: {
    const simdjson::dom::object members = found.get_object().value_unsafe(); // outlives the loop
    for (auto [name, member] : members) {
      std::string full = key.empty() ? std::string(name) : key + '.' + std::string(name);
      if (Result<void> added = value(full, member); !added)
        return added;
    }
    return {};
  }
  case element_type::ARRAY:
    return array(key, found.get_array().value_unsafe());
  case element_type::UINT64:
    return outOfRange(key, found.get_uint64().value_unsafe());
  case element_type::INT64:
    return add(key, found.get_int64().value_unsafe());
  case element_type::DOUBLE:
    return add(key, found.get_double().value_unsafe());
  case element_type::STRING:
    return add(key, std::string(found.get_string().value_unsafe()));
  case element_type::BOOL:
    return add(key, found.get_bool().value_unsafe());
  case element_type::NULL_VALUE:
    break;
  }
  return add(key, std::monostate());
}

} // namespace

/// Quotes the numbers that Python writes but that JSON does not have, such as Infinity in time_step_limit. They become
/// strings. This is harmless for keys without effect, and causes an error for keys that are read as numbers.
static std::string withoutPythonNumbers(std::string_view json) {
  std::string text;
  bool inText = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (inText && json[i] == '\\' && rest.size() > 1) { // the next character is part of the string
      text += rest.substr(0, 2);
      ++i;
      continue;
    }
    inText ^= json[i] == '"';
    const auto *number = inText ? std::end(kPythonNumbers)
                                : std::ranges::find_if(kPythonNumbers, [&](std::string_view n) {
                                    return rest.starts_with(n);
                                  });
    if (number == std::end(kPythonNumbers)) {
      text += json[i];
      continue;
    }
    text += '"' + std::string(*number) + '"';
    i += number->size() - 1;
  }
  return text;
}

Result<void> readSettings(std::string_view json, const std::string &path, const std::string &scope,
                          CheckpointBuilder &builder) {
  const std::string plain = withoutPythonNumbers(json);
  Result<std::unique_ptr<JsonDocument>> document = parseJson(plain, path);
  if (!document)
    return document.error();
  element root = (*document)->root;
  if (!root.is_object())
    return jsonWrongType(path, "(the whole file)", "an object", root);
  return Flattener(path, builder).value(scope, root);
}

Result<void> readConfig(std::string_view json, const std::string &path,
                        CheckpointBuilder &builder) {
  if (Result<void> flat = readSettings(json, path, "", builder); !flat)
    return flat;

  const MetaValue *entry = builder.metadata("architectures");
  if (!entry || std::holds_alternative<std::monostate>(*entry)) {
    const MetaValue *type = builder.metadata("model_type"); // the key that transformers uses
    const auto *name = type ? std::get_if<std::string>(type) : nullptr;
    if (!name || name->empty() || name->size() > 256 || !isPlainName(*name))
      return refuse(cause::architectureMissing, line(fileName(path), " names no architecture"),
                    line("none of its ", builder.keys(),
                         " keys is 'architectures', and it has no 'model_type' either"),
                    "use the config.json of the model itself");
    builder.setArchitecture(*name);
    builder.markUsed("model_type");
    return {};
  }
  const auto *array = std::get_if<MetaArray>(entry);
  const auto *names = array ? std::get_if<std::vector<std::string>>(array) : nullptr;
  if (!names || names->size() != 1 || names->front().empty() || names->front().size() > 256 ||
      !isPlainName(names->front()))
    return refuse(cause::architectureOdd, line(fileName(path), " has an invalid architecture"),
                  names ? line("'architectures' has ", names->size(),
                               " entries; expected exactly 1, of 1 to 256 bytes")
                        : std::string("'architectures' is not an array of 1 string"),
                  "use the config.json of the model itself");
  builder.setArchitecture(names->front());
  builder.markUsed("architectures");
  return {};
}

} // namespace ingot::import
