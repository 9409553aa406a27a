//===- TemporaryFolder.h - A folder for as long as a command runs -------------===//
#pragma once

#include "runtime/error/Error.h"

#include <memory>
#include <string>

namespace ingot::cli {

/// Removed at the end, with what is in it.
struct TemporaryFolder {
  /// In $TMPDIR, else /tmp. E0148.
  static Result<std::unique_ptr<TemporaryFolder>> make(const std::string &name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string path;

private:
  explicit TemporaryFolder(std::string path) : path(std::move(path)) {}
};

} // namespace ingot::cli
