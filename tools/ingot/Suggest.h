//===- Suggest.h - "did you mean …?" ---------------------------------------===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::cli {

/// The candidate nearest to what was typed, if it is near enough to be meant: up to
/// three edits for a long word, one for a short one. Empty otherwise.
std::string nearest(std::string_view typed, const std::vector<std::string> &candidates);

} // namespace ingot::cli
