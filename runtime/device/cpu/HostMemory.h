//===- HostMemory.h - Anonymous memory for arenas, and how much there is --===//
#pragma once

#include "runtime/engine/Pages.h"
#include "runtime/error/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ingot::cpu {

/// Zeroed memory straight from the system, taken page by page as it is first
/// touched. Big regions start on a 2 MiB line and ask for huge pages; the tail
/// does not, so that what is used never exceeds what was asked for.
class HostMemory {
public:
  HostMemory() = default;
  /// Empty if bytes is 0. E0702 (exit 3) if the system refuses.
  static Result<HostMemory> allocate(uint64_t bytes, const std::string &what, bool hugePages);
  HostMemory(HostMemory &&other) noexcept;
  HostMemory &operator=(HostMemory &&other) noexcept;
  ~HostMemory();

  /// Has the system give the bytes [from, from + count) now, as they are; whole pages of them. False:
  /// it cannot (Linux before 5.14), or will not. May run beside whoever uses them.
  bool populate(uint64_t from, uint64_t count) const;

  std::span<std::byte> span() const { return {start, bytes}; }
  std::byte *data() const { return start; } ///< 4096-byte aligned
  uint64_t size() const { return bytes; }

private:
  std::byte *start = nullptr;
  uint64_t bytes = 0; ///< asked for; the mapping is whole pages
};

/// Keeps mapped memory where it is: pages that are there, and others from the moment they come. As
/// errno says.
int lockMemory(std::span<const std::byte> memory);
uint64_t lockedMemory(); ///< bytes of this process that lie so

/// Bytes that can be taken now without swapping: the system's estimate, cut to
/// what the cgroups and `ulimit -v` leave. 0 if nothing is known.
uint64_t availableMemory();

/// Of that, what this process's cgroups for memory leave, of version 1 or 2: the least of its own and
/// of those above. 0: they have no limit. `root`: where /proc and /sys are.
uint64_t leftInTheGroups(const std::string &root = "");

} // namespace ingot::cpu
