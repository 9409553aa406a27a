//===- ToolSet.h - The tools of a request, for parsers of answers --------===//
//
// A tool set has the names that may be called, and the types of each parameter's value. Formats that
// write values as bare text leave the type to the tool's schema.
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
  ToolSet() = default; ///< creates a set without tools
  /// Creates a set of tools without parameters.
  explicit ToolSet(std::vector<std::string> names) : names(std::move(names)) {}
  /// `toolsJson`: an array in OpenAI's shape. Entries without a name are skipped.
  static ToolSet parse(std::string_view toolsJson);

  bool empty() const { return names.empty(); }
  bool has(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }
  /// Returns the types that the schema of `tool` allows at a path of keys; 0 if it does not restrict
  /// them. kItems represents the items of an array in a path.
  uint8_t types(std::string_view tool, std::span<const std::string> path) const {
    return typesOf ? typesOf(tool, path) : 0;
  }

private:
  std::vector<std::string> names;
  /// A function hides the JSON parser here, because libingot parses answers but links no JSON parser.
  std::function<uint8_t(std::string_view tool, std::span<const std::string> path)> typesOf;
};

} // namespace ingot::text
