//===- SwapSpace.h - Host memory for pages of waiting sequences ------------===//
//
// A fixed block of memory, allocated in extents, first fit. A sequence takes one extent for all of its pages.
// If no free extent is long enough, the sequence is recomputed later instead of saved, so fragmentation does no
// harm.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

class SwapSpace {
public:
  /// The caller owns the memory, which must outlive this object; it may be empty.
  explicit SwapSpace(std::span<std::byte> memory);

  uint64_t total() const { return memory.size(); }
  uint64_t inUse() const { return used; }
  /// Returns an empty extent if none is large enough, or if `bytes` is 0.
  std::span<std::byte> take(uint64_t bytes);
  void giveBack(std::span<std::byte> extent);

private:
  struct Extent {
    uint64_t begin, end;
  };
  std::span<std::byte> memory;
  std::vector<Extent> free; ///< ascending; no two are adjacent
  uint64_t used = 0;
};

} // namespace ingot::runtime
