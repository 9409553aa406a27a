//===- GgufImage.h - Builder for GGUF files -------------------------------===//
//
// A small writer that can make any field wrong. `valid()` is a file that the importer accepts; each
// bad kind changes one thing in it.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace ingot::test {

/// Returns a number's little-endian bytes.
template <typename T> std::string little(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// Returns a GGUF string: u64 length, then the bytes.
std::string ggufText(const std::string &text);

/// Returns a metadata entry: key, type number, encoded value.
std::string ggufEntry(const std::string &key, uint32_t type, const std::string &value);
/// Returns an array entry: element type, count, encoded elements.
std::string ggufArray(const std::string &key, uint32_t type, uint64_t count,
                      const std::string &elements);

struct GgufTensor {
  std::string name;
  std::vector<uint64_t> extents; ///< innermost first, as in the file
  uint32_t type;
  uint64_t offset;
  std::optional<uint32_t> dims; ///< overrides the count extents.size()

  std::string record() const;
};

struct GgufImage {
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> tensorCount, keyCount; ///< override the real counts
  std::vector<std::string> entries;
  std::vector<GgufTensor> tensors;
  uint64_t alignment = 32;
  std::string data;

  /// Returns an image with two entries that every image needs, nine more, and the tensors a (F32 [4][8]), b (Q4_0
  /// [2][32]) and c (F16 [2][16]). The data has 128 + 36 + 28 padding + 64 bytes.
  static GgufImage valid();

  std::string head() const; ///< magic, version, counts
  std::string keys() const; ///< head and entries
  std::string bytes() const;
};

} // namespace ingot::test
