//===- SwapSpace.h - Host memory for the pages of sequences that wait ------===//
//
// A fixed piece of memory, given out in extents, first fit. A sequence takes one extent for all
// its pages; if none is long enough it is computed again instead, so fragments do no harm.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ingot::runtime {

class SwapSpace {
public:
  /// The memory is the caller's and outlives this; may be empty.
  explicit SwapSpace(std::span<std::byte> memory);

  uint64_t total() const { return memory.size(); }
  uint64_t inUse() const { return used; }
  /// Empty if there is no such extent, or `bytes` is 0.
  std::span<std::byte> take(uint64_t bytes);
  void giveBack(std::span<std::byte> extent);

private:
  struct Extent {
    uint64_t begin, end;
  };
  std::span<std::byte> memory;
  std::vector<Extent> free; ///< rising, never two that touch
  uint64_t used = 0;
};

} // namespace ingot::runtime
