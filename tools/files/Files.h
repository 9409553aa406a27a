//===- Files.h - Reading and writing whole files ---------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::cli {

/// Returns the bytes of a file; "-" is stdin. Errors: E0120, exit 3, with the system's reason.
Result<std::string> readFile(const std::string &path);

/// A file that changes completely or not at all. The bytes go to a temporary file next to it, which
/// is renamed once it is complete. Symbolic links are followed. A target that is not a regular file
/// (a device, a pipe) is written directly and never replaced.
class OutputFile {
public:
  /// Errors here and below: E0121, exit 3.
  static Result<std::unique_ptr<OutputFile>> create(const std::string &path);
  /// Leaves the file unchanged unless commit() has succeeded.
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(const void *bytes, size_t size);
  /// Completes the file. Also reports a failure of an earlier write().
  Result<void> commit();

private:
  OutputFile() = default;
  std::string path;      ///< as given
  std::string target;    ///< `path` with links resolved
  std::string temporary; ///< empty if `path` is written directly
  FILE *file = nullptr;
  int failure = 0; ///< errno of the first write that failed
};

/// Writes a whole file through OutputFile.
Result<void> writeFile(const std::string &path, std::string_view bytes);

/// Checks that `path` can be written, without touching it, so that E0121 is reported before any
/// work rather than after all of it.
Result<void> checkWritable(const std::string &path);

} // namespace ingot::cli
