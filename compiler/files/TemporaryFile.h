//===- TemporaryFile.h - A file that is renamed once complete -------------===//
//
//   .NAME.<16 hex digits>.ingot-tmp   exists and is locked (flock) while its writer lives
//   NAME                              the old file, then atomically the new one
//
// A killed writer leaves its temporary file but not its lock, so the next run, on this machine or another
// that shares the disk, can tell that the file is stale and removes it.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ingot::compiler {

class TemporaryFile {
public:
  /// Returns whether the target can be written, as far as can be determined without writing. Errors: E0390 the folder
  /// is missing or not writable, E0391 the target exists and is not a regular file.
  static Result<void> checkTarget(const std::string &target);

  /// Creates a temporary file next to `target`, and removes the temporary files of writers that are dead. Errors: all
  /// errors of checkTarget.
  static Result<std::unique_ptr<TemporaryFile>> create(const std::string &target);

  /// Removes the temporary file unless it was committed.
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  /// Reserves disk space for `size` zeroed bytes. Errors: E0392 no space, E0393.
  Result<void> allocate(uint64_t size);

  /// Errors: E0392, E0393. Thread-safe for disjoint ranges.
  Result<void> write(uint64_t offset, std::span<const std::byte> bytes);
  Result<void> read(uint64_t offset, std::span<std::byte> bytes) const;

  /// Calls fsync, renames the file to the target, and calls fsync on the folder. Errors: E0394. Even after an error,
  /// the target is either the complete old file or the complete new one.
  Result<void> commit();

  const std::string &path() const { return temporary; }

  /// Removes the uncommitted temporary files of this process. Signal handlers and similar code call this just before
  /// the process ends.
  static void removeUnfinished() noexcept;

private:
  TemporaryFile() = default;
  Error failed(const std::string &action, int reason) const;

  std::string folder, target, temporary;
  uint64_t wanted = 0;
  int fd = -1;
  bool committed = false;
};

} // namespace ingot::compiler
