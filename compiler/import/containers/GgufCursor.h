//===- GgufCursor.h - The read position in a GGUF file --------------------===//
#pragma once

#include "compiler/import/error/ImportErrors.h"

#include <cstddef>
#include <cstring>
#include <span>

namespace ingot::import {

/// A position in little-endian bytes. Every read is checked against the bytes left.
class GgufCursor {
public:
  GgufCursor(std::span<const std::byte> file, const std::string &path) : file(file), path(path) {}

  size_t offset() const { return at; }
  size_t left() const { return file.size() - at; }

  /// Reads the next number. If the file ends here, `what` ("the type of") and `subject` (a name from the file, or
  /// nothing) form the message. They are joined only in that case, because this function is called once for each array
  /// element.
  template <typename T>
  Result<T> take(const char *code, std::string_view what, std::string_view subject = {}) {
    if (left() < sizeof(T))
      return cut(code, what, subject, sizeof(T));
    T value;
    std::memcpy(&value, file.data() + at, sizeof(T));
    at += sizeof(T);
    return value;
  }

  /// Reads the next `size` bytes as text; the result points into the file.
  Result<std::string_view> takeText(uint64_t size, const char *code, std::string_view what,
                                    std::string_view subject = {}) {
    if (size > left())
      return cut(code, what, subject, size);
    std::string_view text(reinterpret_cast<const char *>(file.data()) + at,
                          static_cast<size_t>(size));
    at += static_cast<size_t>(size);
    return text;
  }

private:
  Error cut(const char *code, std::string_view what, std::string_view subject,
            uint64_t needed) const {
    std::string name = subject.empty() ? std::string() : " " + inQuotes(subject);
    return refuse(
        code, line(fileName(path), " is cut short"),
        line(what, name, " needs ", needed, " bytes at offset ", at, ", ", left(), " are left"),
        "download it again");
  }

  std::span<const std::byte> file;
  const std::string &path;
  size_t at = 0;
};

} // namespace ingot::import
