//===- Suggest.h - "did you mean …?" ---------------------------------------===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::cli {

/// The candidate nearest to what was typed, if it is near enough to be meant: at most
/// two edits, or one in three letters. Empty otherwise.
std::string nearest(std::string_view typed, const std::vector<std::string> &candidates);

} // namespace ingot::cli
