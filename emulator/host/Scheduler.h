//===- Scheduler.h - Chooses the next thread to run -------------------------===//
#pragma once

#include "emulator/host/State.h"

namespace ingot::emulator {

/// Switches from the running fiber, which waits for `what`, to a runnable one. The caller (or the kernel, if
/// the caller returns the Switch) performs the switch.
Switch suspend(Fiber &fiber, const char *what, Site site);
inline void wakeLanes(Warp &warp, u32 lanes) {
  warp.runnable |= lanes;
  if (!warp.runnable)
    return;
  warp.block->runnableWarps |= 1u << warp.index;
  warp.block->cluster->runnableBlocks |= 1u << warp.block->rank;
}
inline void wake(Fiber &fiber) { wakeLanes(*fiber.warp, 1u << fiber.lane); }

/// Reports a finding at a place of the running kernel. `fail` also ends the launch and does not return.
void report(Fiber &fiber, Rule rule, std::string text, Where where, Where other = {});
[[noreturn]] void fail(Fiber &fiber, Rule rule, std::string text, Where where, Where other = {});

/// Prepares the cluster's blocks for `clusterIndex`, the index of the cluster in the grid.
void startCluster(Cluster &cluster, LaunchState &launch, u64 clusterIndex);

enum class Outcome { Ended, Spinning };
/// Runs until all threads have ended, or only spin on memory that other clusters write.
Outcome runCluster(Cluster &cluster);
/// Drops the fibers of a cluster that was aborted, or that spins and will never be woken.
void abandon(Cluster &cluster);

/// Completes one bulk copy. Returns false if none is in flight. (Mbarrier.cpp)
bool landOne(Cluster &cluster, bool nobodyRuns);
/// Called when all threads have ended. Reports copies that are still in flight. (Mbarrier.cpp)
void finishLoads(Cluster &cluster);
/// Called when all participants have arrived. (WarpOps.cpp)
void releaseBarrier(Barrier &barrier);
/// Counts an exited thread as arrived. (ClusterWords.cpp)
void clusterArrived(Cluster &cluster);
/// Reports operations that a thread must not leave incomplete. (AsyncCopy.cpp)
void finishCopies(Fiber &fiber);
void forgetCopies(Fiber &fiber);

} // namespace ingot::emulator
