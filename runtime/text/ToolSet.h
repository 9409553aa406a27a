//===- ToolSet.h - The tools of a request, as a parser of answers needs them //
//
// Which names may be called, and of what type the value of each parameter is. Formats that write
// values as bare text leave that to the tool's schema.
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::text {

/// Types of JSON values, as bits.
enum ValueTypes : uint8_t {
  kNull = 1,
  kBoolean = 2,
  kNumber = 4,
  kArray = 8,
  kObject = 16,
  kText = 32,
};

inline constexpr std::string_view kItems = "[]";

class ToolSet {
public:
  ToolSet() = default; ///< no tools
  /// Tools without parameters.
  explicit ToolSet(std::vector<std::string> names) : names(std::move(names)) {}
  /// `toolsJson`: an array in OpenAI's shape. Entries without a name are left out.
  static ToolSet parse(std::string_view toolsJson);

  bool empty() const { return names.empty(); }
  bool has(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }
  /// Types that the schema of `tool` allows at a path of keys; kItems stands for the items of an
  /// array. 0: the schema does not say.
  uint8_t types(std::string_view tool, std::span<const std::string> path) const {
    return typesOf ? typesOf(tool, path) : 0;
  }

private:
  std::vector<std::string> names;
  /// What reads JSON is behind it: libingot parses answers, and links no reader of JSON.
  std::function<uint8_t(std::string_view tool, std::span<const std::string> path)> typesOf;
};

} // namespace ingot::text
