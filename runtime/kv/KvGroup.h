//===- KvGroup.h - Pages of layers with one attention window ---------------===//
//
// Arithmetic shared by the memory plan and the pool.
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>

namespace ingot::runtime {

struct KvGroup {
  int64_t pages;
  int64_t window = 0; ///< 0: all positions
};

/// Kernels may start reading at a multiple of this; positions before the window are masked.
constexpr int64_t kReadBlock = 128;

/// Returns the first page that a sequence holds when its next token is at `position`. The result is the same
/// for all positions of a page, because the sequence may have to recompute the page from its start. Kernels do
/// not read earlier pages.
constexpr int64_t firstPageHeld(int64_t window, int64_t position, int64_t pageTokens) {
  position = position / pageTokens * pageTokens;
  if (window == 0 || position < window)
    return 0;
  return (position + 1 - window) / kReadBlock * kReadBlock / pageTokens;
}

/// Returns the maximum number of pages of a group that a sequence of `positions` positions holds at once, if
/// one step writes up to `mostTokens` positions. A pool of this size suffices if no other sequence runs.
constexpr int64_t mostPagesHeld(int64_t window, int64_t positions, int64_t pageTokens,
                                int64_t mostTokens) {
  int64_t all = (positions + pageTokens - 1) / pageTokens;
  if (window == 0)
    return all;
  // The bound holds for any alignment of the window in a block, and of the step in a page.
  int64_t seen = window + kReadBlock - 1 + pageTokens + mostTokens;
  return std::min(all, (seen + pageTokens - 1) / pageTokens + 1);
}

} // namespace ingot::runtime
