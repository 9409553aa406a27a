//===- Json.h - Parsing JSON that came with a checkpoint ------------------===//
//
// simdjson behind our three-line errors. Private to this room: simdjson.h is slow
// to compile and nobody else needs it.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <memory>
#include <simdjson.h>
#include <string>
#include <string_view>

namespace ingot::import {

/// A parsed document; elements live as long as it does.
struct JsonDocument {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
};

/// Parses text of at most 64 levels. Errors: E0209 (not UTF-8), E0275 (not JSON), E0276
/// (too deep). `path` is for messages.
Result<std::unique_ptr<JsonDocument>> parseJson(std::string_view text, const std::string &path);

/// What simdjson said, as one of our errors.
Error jsonError(simdjson::error_code code, const std::string &path, size_t bytes);

/// "a string", "an object", … for messages.
const char *jsonTypeName(simdjson::dom::element element);

/// The member of `name` in `path` that should have been something else (E0277).
Error jsonWrongType(const std::string &path, std::string_view name, const char *expected,
                    simdjson::dom::element found);

} // namespace ingot::import
