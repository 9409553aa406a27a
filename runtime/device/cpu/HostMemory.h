//===- HostMemory.h - Anonymous memory for arenas, and available memory ---===//
#pragma once

#include "runtime/engine/Pages.h"
#include "runtime/error/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ingot::cpu {

/// Zeroed memory straight from the system, committed page by page when first touched. Large regions
/// are aligned to 2 MiB and request huge pages. The tail after the last whole huge page does not, so
/// the memory in use never exceeds the bytes requested, rounded up to whole pages.
class HostMemory {
public:
  HostMemory() = default;
  /// Allocates the memory; the result is empty if `bytes` is 0. E0702 (exit 3) if the system refuses.
  static Result<HostMemory> allocate(uint64_t bytes, const std::string &what, bool hugePages);
  HostMemory(HostMemory &&other) noexcept;
  HostMemory &operator=(HostMemory &&other) noexcept;
  ~HostMemory();

  /// Has the system commit the bytes [from, from + count) now, rounded to whole pages, with their
  /// contents unchanged. Returns false if the system cannot (Linux before 5.14) or will not. May run
  /// while other threads use the memory.
  bool populate(uint64_t from, uint64_t count) const;

  std::span<std::byte> span() const { return {start, bytes}; }
  std::byte *data() const { return start; } ///< 4096-byte aligned
  uint64_t size() const { return bytes; }

private:
  std::byte *start = nullptr;
  uint64_t bytes = 0; ///< as requested; the mapping consists of whole pages
};

/// Locks mapped memory: resident pages now, and the others as soon as they are brought in. Returns
/// an errno value; 0 on success.
int lockMemory(std::span<const std::byte> memory);
uint64_t lockedMemory(); ///< bytes that this process has locked

/// Returns the number of bytes that can be taken now without swapping: the system's estimate, limited to what the
/// cgroups and `ulimit -v` leave. 0 if nothing is known.
uint64_t availableMemory();

/// Returns the number of bytes that the memory limits of this process's cgroups (version 1 or 2) leave: the minimum
/// over its own cgroup and all its ancestors. 0 if they have no limit. `root`: prefix of the paths /proc and /sys.
uint64_t leftInTheGroups(const std::string &root = "");

} // namespace ingot::cpu
