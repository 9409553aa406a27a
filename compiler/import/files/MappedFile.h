//===- MappedFile.h - A file's bytes, mapped read-only --------------------===//
//
// Only regular files are opened, because reading a FIFO could block, and a device may have no end. The bytes stay valid
// as long as the object lives. Checkpoint keeps it alive.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ingot::import {

class MappedFile {
public:
  /// Maps the whole file. Errors: missing or forbidden (E0200), not a regular file
  /// (E0201), empty (E0204), the system refused to map it (E0203).
  static Result<std::shared_ptr<const MappedFile>> open(const std::string &path);

  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {data, size}; }
  /// Releases the resident pages of the mapping. A later read loads them again. Without this call, the process's
  /// resident size includes everything that it has read from the file.
  void forgetPages() const;
  std::string_view text() const { return {reinterpret_cast<const char *>(data), size}; }

private:
  MappedFile(const std::byte *data, size_t size) : data(data), size(size) {}

  const std::byte *data;
  size_t size;
};

/// Releases the resident pages of a range of a mapped file.
void forgetPages(std::span<const std::byte> mapped);

} // namespace ingot::import
