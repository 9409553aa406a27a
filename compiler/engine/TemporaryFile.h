//===- TemporaryFile.h - A file that gets its name when it is complete ----===//
//
//   .NAME.<16 hex digits>.ingot-tmp   exists and is locked (flock) while its writer lives
//   NAME                              the old file, then from one moment to the next the new
//
// A killed writer leaves its temporary file but not its lock, which is how the next
// run, on this machine or another that shares the disk, knows that it may go.
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
  /// Whether a file can be written there, as far as can be told without writing. Errors: E0390
  /// the folder is missing or not writable, E0391 the target exists and is no regular file.
  static Result<void> checkTarget(const std::string &target);

  /// Makes a temporary file beside `target` and removes those of dead writers. Errors: those of
  /// checkTarget.
  static Result<std::unique_ptr<TemporaryFile>> create(const std::string &target);

  /// Removes the temporary file unless it was committed.
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  /// Takes the disk space of `size` zeroed bytes. Errors: E0392 no space, E0393.
  Result<void> allocate(uint64_t size);

  /// Errors: E0392, E0393. Safe from several threads for different bytes.
  Result<void> write(uint64_t offset, std::span<const std::byte> bytes);
  Result<void> read(uint64_t offset, std::span<std::byte> bytes) const;

  /// fsync, rename to the target, fsync of the folder. Error: E0394; the target is whole in any
  /// case.
  Result<void> commit();

  const std::string &path() const { return temporary; }

  /// Removes the temporary files of this process that are not committed. For signal handlers
  /// and the like: the process ends after it.
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
