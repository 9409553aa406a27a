//===- ToolSet.h - The tools of a request, for parsers of answers --------===//
//
// The names that may be called, and the types of each parameter's value. Formats that write values
// as bare text leave the type to the tool's schema.
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
  /// A set of tools without parameters.
  explicit ToolSet(std::vector<std::string> names) : names(std::move(names)) {}
  /// `toolsJson`: an array in OpenAI's shape. Entries without a name are skipped.
  static ToolSet parse(std::string_view toolsJson);

  bool empty() const { return names.empty(); }
  bool has(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }
  /// The types that the schema of `tool` allows at a path of keys; kItems represents the items of
  /// an array. 0 if the schema does not restrict them.
  uint8_t types(std::string_view tool, std::span<const std::string> path) const {
    return typesOf ? typesOf(tool, path) : 0;
  }

private:
  std::vector<std::string> names;
  /// Hides the JSON parser: libingot parses answers, but links no JSON parser.
  std::function<uint8_t(std::string_view tool, std::span<const std::string> path)> typesOf;
};

} // namespace ingot::text
