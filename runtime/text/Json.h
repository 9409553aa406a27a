//===- Json.h - Strings as JSON ------------------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace ingot::text {

/// Encodes the text as a JSON string with its quotes. Invalid UTF-8 becomes U+FFFD.
std::string jsonString(std::string_view text);
/// Appends the text, encoded in the same way, to `out`.
void appendJsonString(std::string &out, std::string_view text);

} // namespace ingot::text
