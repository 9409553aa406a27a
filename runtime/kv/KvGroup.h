//===- KvGroup.h - Pages of layers with one attention window ---------------===//
//
// The arithmetic that the memory statement and the pool share.
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>

namespace ingot::runtime {

struct KvGroup {
  int64_t pages;
  int64_t window = 0; ///< 0: all positions
};

/// Kernels may begin to read at a multiple of this, with what lies before the window masked.
constexpr int64_t kReadBlock = 128;

/// The first page that a sequence holds when its next token is at `position`, or anywhere before in that page,
/// which may be begun again. Kernels read nothing of the pages before it.
constexpr int64_t firstPageHeld(int64_t window, int64_t position, int64_t pageTokens) {
  position = position / pageTokens * pageTokens;
  if (window == 0 || position < window)
    return 0;
  return (position + 1 - window) / kReadBlock * kReadBlock / pageTokens;
}

/// Pages of a group that a sequence of so many positions holds at once at most, of which up to
/// `mostTokens` are written in one step: what it needs of a pool to run alone.
constexpr int64_t mostPagesHeld(int64_t window, int64_t positions, int64_t pageTokens,
                                int64_t mostTokens) {
  int64_t all = (positions + pageTokens - 1) / pageTokens;
  if (window == 0)
    return all;
  // Wherever the window begins in a block, and the step in a page.
  int64_t seen = window + kReadBlock - 1 + pageTokens + mostTokens;
  return std::min(all, (seen + pageTokens - 1) / pageTokens + 1);
}

} // namespace ingot::runtime
