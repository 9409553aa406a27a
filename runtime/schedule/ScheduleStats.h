//===- ScheduleStats.h - State and counters of the scheduler ---------------===//
#pragma once

#include <cstdint>

namespace ingot::runtime {

/// State and counters of the scheduler. The fields before `steps` are current values; the others count from the
/// start.
struct ScheduleStats {
  int64_t running = 0, waiting = 0;
  int64_t waitingTokens = 0; ///< prompt tokens of waiting sequences
  // Pages of all KV groups. Cached ("kept") pages have no holder and are available.
  int64_t pagesUsed = 0, pagesCached = 0, pages = 0;
  int64_t unusedSlots = 0; ///< empty positions in used pages (of the first group)
  uint64_t swapBytesUsed = 0;
  // Slots of fixed-state snapshots (runtime/kv/StateSnapshots.h); 0: there are none.
  int64_t snapshotsUsed = 0, snapshotsCached = 0, snapshots = 0;

  uint64_t steps = 0, promptTokens = 0, decodeTokens = 0; ///< computed steps and tokens
  uint64_t prefixQueries = 0, prefixHits = 0;             ///< prompt tokens looked up and found
  uint64_t preemptions = 0, swaps = 0;                    ///< swaps: preemptions that saved pages
                                                          ///< to the host
  uint64_t swappedBytes = 0;                              ///< bytes saved to the host
  uint64_t forks = 0, copiedPages = 0;
  uint64_t draftTokens = 0, acceptedTokens = 0; ///< tokens computed as drafts, and accepted drafts
};

} // namespace ingot::runtime
