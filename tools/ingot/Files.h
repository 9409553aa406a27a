//===- Files.h - Files read and written whole ------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::cli {

/// The bytes of a file; "-" is stdin. E0120, exit 3, with the system's reason.
Result<std::string> readFile(const std::string &path);

/// A file that changes whole or not at all: the bytes go to a temporary file beside it, which
/// takes its name when they are all there. Symbolic links are followed. What is no regular
/// file (a device, a pipe) is written as it stands, never replaced.
class OutputFile {
public:
  /// E0121, exit 3, here and below.
  static Result<std::unique_ptr<OutputFile>> create(const std::string &path);
  /// Without a commit(): the file stays as it was.
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(const void *bytes, size_t size);
  /// Says as well what failed in write().
  Result<void> commit();

private:
  OutputFile() = default;
  std::string path;      ///< as it was given
  std::string target;    ///< behind the links
  std::string temporary; ///< empty where `path` itself is written
  FILE *file = nullptr;
  int failure = 0; ///< errno of the first write that failed
};

/// As OutputFile does it.
Result<void> writeFile(const std::string &path, std::string_view bytes);

/// Whether `path` could be written, without touching it: E0121 before any work instead of after
/// all of it.
Result<void> checkWritable(const std::string &path);

} // namespace ingot::cli
