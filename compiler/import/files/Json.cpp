//===- Json.cpp - Converts simdjson's errors to ours ----------------------===//
#include "compiler/import/files/Json.h"
#include "compiler/import/error/ImportErrors.h"

namespace ingot::import {

static constexpr size_t kMaxDepth = 64;

Error jsonError(simdjson::error_code code, const std::string &path, size_t bytes) {
  if (code == simdjson::UTF8_ERROR)
    return refuse(cause::notUtf8, line(fileName(path), " is not UTF-8"),
                  line("malformed bytes among its ", bytes, " bytes of JSON"), "download it again");
  if (code == simdjson::DEPTH_ERROR)
    return refuse(cause::jsonTooDeep, line(fileName(path), " is nested too deeply"),
                  line("more than ", kMaxDepth, " levels of JSON"),
                  "replace it with the model's file: this is another file of that name");
  return refuse(cause::jsonInvalid, line(fileName(path), " is not valid JSON"),
                line(bytes, " bytes; ", simdjson::error_message(code)),
                "correct the file where it was edited; download it again if it was cut");
}

Result<std::unique_ptr<JsonDocument>> parseJson(std::string_view text, const std::string &path) {
  auto document = std::make_unique<JsonDocument>();
  simdjson::error_code code = document->parser.allocate(text.size(), kMaxDepth);
  if (code == simdjson::SUCCESS)
    code = document->parser.parse(text.data(), text.size(), /*realloc_if_needed=*/true)
               .get(document->root);
  if (code != simdjson::SUCCESS)
    return jsonError(code, path, text.size());
  return document;
}

const char *jsonTypeName(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
  case element_type::ARRAY:
    return "an array";
  case element_type::OBJECT:
    return "an object";
  case element_type::INT64:
  case element_type::UINT64:
    return "an integer";
  case element_type::DOUBLE:
    return "a number";
  case element_type::STRING:
    return "a string";
  case element_type::BOOL:
    return "a boolean";
  case element_type::NULL_VALUE:
    return "null";
  }
  return "nothing";
}

Error jsonWrongType(const std::string &path, std::string_view name, const char *expected,
                    simdjson::dom::element found) {
  return refuse(cause::jsonFieldType,
                line(fileName(path), " has a value of the wrong type at ", inQuotes(name)),
                line("found ", jsonTypeName(found), ", expected ", expected),
                "correct the value, or replace the file with the model's");
}

} // namespace ingot::import
