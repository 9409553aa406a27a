//===- CheckedJson.h - Whether a text is JSON ---------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::text {

/// The text as JSON, with control characters in its strings escaped, and the type of its value (one
/// of ValueTypes); "" if it is not JSON.
std::string checkedJson(std::string_view text, uint8_t &type);

} // namespace ingot::text
