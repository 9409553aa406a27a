//===- Fields.cpp - Types and ranges of a request's fields -----------------===//
#include "runtime/server/api/Fields.h"

#include "runtime/json/JsonText.h"

#include <algorithm>
#include <charconv>

namespace ingot::api {

namespace dom = simdjson::dom;

namespace {

const char *nameOf(dom::element_type type) {
  switch (type) {
  case dom::element_type::ARRAY:
    return "a list";
  case dom::element_type::OBJECT:
    return "an object";
  case dom::element_type::STRING:
    return "a string";
  case dom::element_type::BOOL:
    return "a boolean";
  case dom::element_type::NULL_VALUE:
    return "null";
  default:
    return "a number";
  }
}

std::string wrongType(const char *wanted, dom::element found) {
  return std::string("must be ") + wanted + ", not " + nameOf(found.type());
}

std::string number(double value) { return runtime::JsonText().value(value).text(); }

std::string outOfRange(const std::string &value, const std::string &least,
                       const std::string &most) {
  return "is " + value + "; allowed: " + least + " to " + most;
}

std::string keyTwice(dom::object object, const std::string &where);

/// Returns the path of a key that occurs twice in the same object of `value`; empty if there is none.
std::string keyTwice(dom::element value, const std::string &where) {
  if (dom::object object; !value.get(object))
    return keyTwice(object, where);
  dom::array list;
  if (value.get(list))
    return "";
  size_t index = 0;
  for (dom::element item : list)
    if (auto twice = keyTwice(item, where + "[" + std::to_string(index++) + "]"); !twice.empty())
      return twice;
  return "";
}

std::string keyTwice(dom::object object, const std::string &where) {
  auto pathOf = [&](std::string_view key) {
    return where.empty() ? std::string(key) : where + "." + std::string(key);
  };
  std::vector<std::string_view> keys;
  for (auto [key, member] : object) {
    if (member.is_object() || member.is_array())
      if (auto twice = keyTwice(member, pathOf(key)); !twice.empty())
        return twice;
    keys.push_back(key);
  }
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  return twice == keys.end() ? "" : pathOf(*twice);
}

} // namespace

std::string Fields::path(std::string_view name) const {
  return where.empty() ? std::string(name) : where + "." + std::string(name);
}

bool Fields::noted(std::string_view name, const char *type, std::string least,
                   std::string most) const {
  if (!document->describing)
    return false;
  const std::string own = path(name);
  auto note = std::ranges::find(document->found, own, &FieldNote::path);
  if (note == document->found.end()) {
    note = document->found.emplace(note);
    note->path = own;
  }
  if (*type)
    note->type = type;
  if (!least.empty()) {
    note->least = std::move(least);
    note->most = std::move(most);
  }
  return true;
}

void Fields::fail(std::string_view name, std::string message) const {
  if (document->failure)
    return;
  ApiError error;
  error.param = name.empty() ? where : path(name);
  error.message = error.param + ": " + message;
  document->failure = std::move(error);
}

void Fields::fail(ApiError error) const {
  if (!document->failure)
    document->failure = std::move(error);
}

void Fields::leaveOut(std::string_view name, std::string_view type) const {
  constexpr size_t kMostNotes = 32, kMostType = 64;
  if (document->leftOut && document->leftOut->size() < kMostNotes)
    document->leftOut->push_back((name.empty() ? where : path(name)) + ": " +
                                 std::string(type.substr(0, kMostType)));
}

bool Fields::null(std::string_view name) const {
  dom::element found;
  return !document->describing && !values.at_key(name).get(found) && found.is_null();
}

bool Fields::failed() const { return document->failure.has_value(); }

void Fields::require(std::string_view name) const {
  if (noted(name, ""))
    std::ranges::find(document->found, path(name), &FieldNote::path)->required = true;
  if (!has(name))
    fail(name, "is required");
}

std::optional<dom::element> Fields::element(std::string_view name) const {
  if (noted(name, ""))
    return std::nullopt;
  dom::element found;
  if (document->failure || values.at_key(name).get(found) || found.is_null())
    return std::nullopt;
  return found;
}

bool Fields::has(std::string_view name) const { return element(name).has_value(); }

std::optional<double> Fields::number(std::string_view name, double least, double most) const {
  if (noted(name, "number", api::number(least), api::number(most)))
    return std::nullopt;
  auto found = element(name);
  if (!found)
    return std::nullopt;
  double value = 0;
  if (!found->is_number() || found->get(value)) {
    fail(name, wrongType("a number", *found));
    return std::nullopt;
  }
  if (!(value >= least && value <= most)) {
    fail(name, outOfRange(api::number(value), api::number(least), api::number(most)));
    return std::nullopt;
  }
  return value;
}

/// Reads an integer, including one written as 3.0.
static std::optional<int64_t> wholeNumber(dom::element found) {
  int64_t value = 0;
  if (!found.get(value))
    return value;
  double real = 0;
  if (!found.is_number() || found.get(real) || !(real >= -9e15 && real <= 9e15) ||
      real != double(int64_t(real)))
    return std::nullopt;
  return int64_t(real);
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t least, int64_t most) const {
  if (noted(name, "integer", std::to_string(least), std::to_string(most)))
    return std::nullopt;
  auto found = element(name);
  if (!found)
    return std::nullopt;
  std::string written = simdjson::minify(*found);
  if (!found->is_number()) {
    fail(name, wrongType("an integer", *found));
    return std::nullopt;
  }
  auto value = wholeNumber(*found);
  if (!value || *value < least || *value > most) {
    double real = 0;
    if (found->get(real))
      real = 0;
    bool whole = value.has_value() || real >= 9e15 || real <= -9e15;
    fail(name, whole ? outOfRange(written, std::to_string(least), std::to_string(most))
                     : "must be an integer, not " + written);
    return std::nullopt;
  }
  return value;
}

std::optional<bool> Fields::boolean(std::string_view name) const {
  if (noted(name, "boolean"))
    return std::nullopt;
  auto found = element(name);
  if (!found)
    return std::nullopt;
  bool value = false;
  if (found->get(value)) {
    fail(name, wrongType("a boolean", *found));
    return std::nullopt;
  }
  return value;
}

std::optional<std::string_view> Fields::filledText(std::string_view name, size_t most) const {
  auto value = text(name, most);
  if (!value || value->find_first_not_of(" \t\r\n") != std::string_view::npos)
    return value;
  fail(name, "is empty");
  return std::nullopt;
}

std::optional<std::string_view> Fields::text(std::string_view name, size_t most) const {
  if (noted(name, "string"))
    return std::nullopt;
  auto found = element(name);
  if (!found)
    return std::nullopt;
  std::string_view value;
  if (found->get(value)) {
    fail(name, wrongType("a string", *found));
    return std::nullopt;
  }
  if (value.size() > most) {
    fail(name, "has " + std::to_string(value.size()) + " bytes; allowed: " + std::to_string(most));
    return std::nullopt;
  }
  return value;
}

std::optional<std::string_view>
Fields::oneOf(std::string_view name, std::initializer_list<std::string_view> allowed) const {
  if (noted(name, "string")) {
    auto note = std::ranges::find(document->found, path(name), &FieldNote::path);
    note->allowed.assign(allowed.begin(), allowed.end());
    return std::nullopt;
  }
  auto value = text(name, 1 << 10);
  if (!value || std::ranges::find(allowed, *value) != allowed.end())
    return value;
  std::string list;
  for (std::string_view one : allowed)
    list += (list.empty() ? "" : ", ") + std::string(one);
  fail(name, "is " + runtime::JsonText().value(*value).text() + "; allowed: " + list);
  return std::nullopt;
}

std::vector<std::string> Fields::texts(std::string_view name, size_t mostItems,
                                       size_t mostBytes) const {
  if (noted(name, "texts"))
    return {};
  auto found = element(name);
  std::vector<std::string> result;
  if (!found)
    return result;
  if (found->is_string()) {
    if (auto one = text(name, mostBytes))
      result.emplace_back(*one);
    return result;
  }
  dom::array list;
  if (found->get(list)) {
    fail(name, wrongType("a string or a list of strings", *found));
    return result;
  }
  for (dom::element item : list) {
    std::string at = std::string(name) + "[" + std::to_string(result.size()) + "]";
    std::string_view value;
    if (item.get(value))
      fail(at, wrongType("a string", item));
    else if (value.size() > mostBytes)
      fail(at,
           "has " + std::to_string(value.size()) + " bytes; allowed: " + std::to_string(mostBytes));
    else if (result.size() == mostItems)
      fail(name, "has more than " + std::to_string(mostItems) + " items");
    if (document->failure)
      return {};
    result.emplace_back(value);
  }
  return result;
}

std::vector<int64_t> Fields::integers(std::string_view name, size_t mostItems, int64_t least,
                                      int64_t most) const {
  if (noted(name, "integers"))
    return {};
  auto found = element(name);
  std::vector<int64_t> result;
  if (!found)
    return result;
  dom::array list;
  if (found->get(list)) {
    fail(name, wrongType("a list of integers", *found));
    return result;
  }
  for (dom::element item : list) {
    std::string at = std::string(name) + "[" + std::to_string(result.size()) + "]";
    auto value = wholeNumber(item);
    if (!value)
      fail(at, item.is_number() ? "must be an integer, not " + std::string(simdjson::minify(item))
                                : wrongType("an integer", item));
    else if (*value < least || *value > most)
      fail(at, outOfRange(std::to_string(*value), std::to_string(least), std::to_string(most)));
    else if (result.size() == mostItems)
      fail(name, "has more than " + std::to_string(mostItems) + " items");
    if (document->failure)
      return {};
    result.push_back(*value);
  }
  return result;
}

std::optional<Fields> Fields::object(std::string_view name) const {
  if (noted(name, "object"))
    return Fields(*document, values, path(name));
  auto found = element(name);
  if (!found)
    return std::nullopt;
  dom::object value;
  if (found->get(value)) {
    fail(name, wrongType("an object", *found));
    return std::nullopt;
  }
  return Fields(*document, value, path(name));
}

std::vector<Fields> Fields::objects(std::string_view name, size_t least, size_t most) const {
  if (noted(name, "list"))
    return {Fields(*document, values, path(name) + "[0]")};
  auto found = element(name);
  std::vector<Fields> result;
  if (!found)
    return result;
  dom::array list;
  if (found->get(list)) {
    fail(name, wrongType("a list of objects", *found));
    return result;
  }
  for (dom::element item : list) {
    std::string at = std::string(name) + "[" + std::to_string(result.size()) + "]";
    dom::object value;
    if (item.get(value))
      fail(at, wrongType("an object", item));
    else if (result.size() == most)
      fail(name, "has more than " + std::to_string(most) + " items");
    if (document->failure)
      return {};
    result.push_back(Fields(*document, value, path(at)));
  }
  if (result.size() < least)
    fail(name, "has " + std::to_string(result.size()) + " items; at least " +
                   std::to_string(least) + " is needed");
  return result;
}

std::vector<std::pair<std::string_view, dom::element>> Fields::members() const {
  std::vector<std::pair<std::string_view, dom::element>> result;
  if (!document->failure)
    for (auto [key, value] : values)
      result.emplace_back(key, value);
  return result;
}

std::string Fields::json(std::string_view name) const {
  auto found = element(name);
  return found ? std::string(simdjson::minify(*found)) : std::string();
}

std::string Fields::json() const { return simdjson::minify(values); }

/// Returns the text with an exponent added to each integer that does not fit in 64 bits. Without the
/// exponent, the parser would refuse the whole body, and the error could not name the field.
static std::string withWideNumbers(std::string_view text) {
  std::string out;
  size_t copied = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inString) {
      if (text[i] == '\\')
        ++i;
      else
        inString = text[i] != '"';
      continue;
    }
    inString = text[i] == '"';
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (!digit && text[i] != '-')
      continue;
    size_t end = std::min(text.find_first_not_of("0123456789", i + 1), text.size());
    uint64_t value = 0;
    int64_t negative = 0;
    const char *first = text.data() + i, *last = text.data() + end;
    const bool fits = digit ? std::from_chars(first, last, value).ec == std::errc()
                            : std::from_chars(first, last, negative).ec == std::errc();
    const bool whole =
        end == text.size() || std::string_view(".eE").find(text[end]) == std::string_view::npos;
    if (!fits && whole && end - i > 18) {
      out.append(text.substr(copied, end - copied)).append("e0");
      copied = end;
    }
    // Skip fractions and exponents.
    i = std::min(text.find_first_not_of("0123456789.eE+-", end), text.size()) - 1;
  }
  return out.append(text.substr(copied));
}

std::optional<Fields> Document::parse(std::string_view text) {
  auto wrong = [&](std::string message) {
    failure = ApiError{};
    failure->message = std::move(message);
    failure->code = "invalid_json";
    return std::nullopt;
  };
  simdjson::padded_string padded(withWideNumbers(text));
  if (parser.allocate(std::max<size_t>(padded.size(), 64), kJsonDepth))
    return wrong("there is not enough memory for the body");
  dom::element root;
  if (auto error = parser.parse(padded).get(root))
    return wrong(error == simdjson::DEPTH_ERROR
                     ? "the body is nested deeper than " + std::to_string(kJsonDepth) + " levels"
                     : std::string("the body is not valid JSON: ") +
                           simdjson::error_message(error));
  dom::object object;
  if (root.get(object))
    return wrong("the body is not a JSON object");
  return Fields(*this, object, "");
}

Fields Document::describe() {
  Fields body = *parse("{}");
  describing = true;
  failure = ApiError{};
  return body;
}

void Document::refuseTwice(const Fields &body) {
  if (failure)
    return;
  if (auto twice = keyTwice(body.values, ""); !twice.empty()) {
    failure = ApiError{};
    failure->param = twice;
    failure->message = twice + ": duplicate key";
  }
}

} // namespace ingot::api
