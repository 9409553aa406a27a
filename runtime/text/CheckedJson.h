//===- CheckedJson.h - Whether a text is JSON ---------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::text {

/// Returns the text as JSON, with control characters in its strings escaped; "" if it is not JSON.
/// `type` receives the type of its value (one of ValueTypes).
std::string checkedJson(std::string_view text, uint8_t &type);

} // namespace ingot::text
