//===- Scheduler.h - Which thread runs next ---------------------------------===//
#pragma once

#include "emulator/host/State.h"

namespace ingot::emulator {

/// Leaves the running fiber, which waits for `what`, for one that can run. The caller (or the
/// kernel, if it is the caller's return value) does the switch.
Switch suspend(Fiber &fiber, const char *what, Site site);
inline void wakeLanes(Warp &warp, u32 lanes) {
  warp.runnable |= lanes;
  if (!warp.runnable)
    return;
  warp.block->runnableWarps |= 1u << warp.index;
  warp.block->cluster->runnableBlocks |= 1u << warp.block->rank;
}
inline void wake(Fiber &fiber) { wakeLanes(*fiber.warp, 1u << fiber.lane); }

/// A finding at a place of the running kernel. `fail` also ends the launch: it does not return.
void report(Fiber &fiber, Rule rule, std::string text, Where where, Where other = {});
[[noreturn]] void fail(Fiber &fiber, Rule rule, std::string text, Where where, Where other = {});

/// Makes the clusters's blocks ready: `first` is its first block's index in units of clusters.
void startCluster(Cluster &cluster, LaunchState &launch, u64 clusterIndex);

enum class Outcome { Ended, Spinning };
/// Runs until all threads have ended, or they only spin on memory that other clusters write.
Outcome runCluster(Cluster &cluster);
/// For clusters that spin and that nobody will wake.
void abandon(Cluster &cluster);

/// Lets one bulk copy land. False: none is under way. (Mbarrier.cpp)
bool landOne(Cluster &cluster, bool nobodyRuns);
/// All threads have ended: no copy may be under way. (Mbarrier.cpp)
void finishLoads(Cluster &cluster);
/// All members have come. (Meetings.cpp)
void releaseBarrier(Barrier &barrier);
/// An exited thread counts as arrived. (ClusterWords.cpp)
void clusterArrived(Cluster &cluster);
/// What a thread must not leave behind. (AsyncCopy.cpp)
void finishCopies(Fiber &fiber);
void forgetCopies(Fiber &fiber);

} // namespace ingot::emulator
