//===- ScheduleStats.h - What the scheduler has, and has done --------------===//
#pragma once

#include <cstdint>

namespace ingot::runtime {

/// Counts since the start, but for the first lines.
struct ScheduleStats {
  int64_t running = 0, waiting = 0;
  int64_t waitingTokens = 0; ///< of the prompts of those that wait
  // Pages of all KV groups. Kept ones are available: nobody holds them.
  int64_t pagesUsed = 0, pagesKept = 0, pages = 0;
  int64_t unusedSlots = 0; ///< positions of used pages (of the first group) that hold nothing
  uint64_t swapBytesUsed = 0;
  // Slots for versions of fixed states (runtime/kv/StateVersions.h), likewise; 0: there are none.
  int64_t versionsUsed = 0, versionsKept = 0, versions = 0;

  uint64_t steps = 0, promptTokens = 0, decodeTokens = 0; ///< computed
  uint64_t prefixQueries = 0, prefixHits = 0;             ///< in tokens of prompts
  uint64_t preemptions = 0, swaps = 0;                    ///< swaps: those of them to the host
  uint64_t swappedBytes = 0;                              ///< to the host
  uint64_t forks = 0, copiedPages = 0;
  uint64_t draftTokens = 0, acceptedTokens = 0; ///< computed as drafts; those that were right
};

} // namespace ingot::runtime
