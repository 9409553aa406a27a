//===- Json.h - Parsing JSON that came with a checkpoint ------------------===//
//
// These functions wrap simdjson and report its errors in our three-line form. This header is private to
// compiler/import, because simdjson.h is slow to compile.
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

/// Parses JSON nested at most 64 levels deep. Errors: E0209 (not UTF-8), E0275 (not JSON), E0276 (too deep).
/// `path` is for messages.
Result<std::unique_ptr<JsonDocument>> parseJson(std::string_view text, const std::string &path);

/// Converts an error of simdjson to one of ours.
Error jsonError(simdjson::error_code code, const std::string &path, size_t bytes);

/// "a string", "an object", … for messages.
const char *jsonTypeName(simdjson::dom::element element);

/// Returns the error for a member `name` in `path` that has the wrong type (E0277).
Error jsonWrongType(const std::string &path, std::string_view name, const char *expected,
                    simdjson::dom::element found);

} // namespace ingot::import
