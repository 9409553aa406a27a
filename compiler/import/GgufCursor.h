//===- GgufCursor.h - Where a GGUF reader stands in the file --------------===//
#pragma once

#include "compiler/import/ImportErrors.h"

#include <cstddef>
#include <cstring>
#include <span>

namespace ingot::import {

/// A position in little-endian bytes. Every read is compared with the bytes left.
class GgufCursor {
public:
  GgufCursor(std::span<const std::byte> file, const std::string &path) : file(file), path(path) {}

  size_t offset() const { return at; }
  size_t left() const { return file.size() - at; }

  /// The next number; `what` ("the key's length") is for the message if the file ends here.
  template <typename T> Result<T> take(const char *code, std::string_view what) {
    if (left() < sizeof(T))
      return cut(code, what, sizeof(T));
    T value;
    std::memcpy(&value, file.data() + at, sizeof(T));
    at += sizeof(T);
    return value;
  }

  /// The next `size` bytes as text; they stay in the file.
  Result<std::string_view> takeText(const char *code, std::string_view what, uint64_t size) {
    if (size > left())
      return cut(code, what, size);
    std::string_view text(reinterpret_cast<const char *>(file.data()) + at,
                          static_cast<size_t>(size));
    at += static_cast<size_t>(size);
    return text;
  }

  /// The file ends where `needed` bytes of `what` should be.
  Error cut(const char *code, std::string_view what, uint64_t needed) const {
    return refuse(code, line(fileName(path), " is cut short"),
                  line(what, " needs ", needed, " bytes at offset ", at, ", ", left(), " are left"),
                  "download it again");
  }

private:
  std::span<const std::byte> file;
  const std::string &path;
  size_t at = 0;
};

} // namespace ingot::import
