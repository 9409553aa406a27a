//===- SafetensorsImage.h - Builder for safetensors files -----------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::test {

struct SafetensorsImage {
  std::vector<std::string> entries;  ///< JSON members of the header, in order
  std::optional<std::string> header; ///< replaces the header built from `entries`
  std::optional<uint64_t> length;    ///< replaces the header's real length
  std::string data;

  /// Appends an entry of `bytes` bytes at the end of the data.
  void add(const std::string &name, const std::string &dtype, const std::vector<int64_t> &shape,
           size_t bytes);

  /// Returns a file with a: F32 [2, 3], b: BF16 [4, 2], c: F16 scalar, and "__metadata__" as transformers writes it.
  static SafetensorsImage valid();

  std::string bytes() const;
};

} // namespace ingot::test
