//===- TemporaryFolder.h - Temporary folder of a command ----------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <memory>
#include <string>

namespace ingot::cli {

/// A folder that is removed with its contents when the object is destroyed.
struct TemporaryFolder {
  /// Creates the folder in $TMPDIR, else in /tmp. Errors: E0148.
  static Result<std::unique_ptr<TemporaryFolder>> make(const std::string &name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string path;

private:
  explicit TemporaryFolder(std::string path) : path(std::move(path)) {}
};

} // namespace ingot::cli
