//===- Races.h - Checks every access of a checked kernel --------------------===//
//
// Detects races in shared memory by FastTrack (Flanagan and Freund, PLDI 2009), on any schedule and even when
// the results happen to be right: every word stores its last writer and two readers as (thread, clock), and
// every thread has a vector clock of its knowledge of others. An access is ordered after another if the
// thread's clock for the other's thread has reached that access. Barriers, mbarriers and sync_warp propagate
// knowledge. As in PTX, shuffles and mma do not. A relaxed arrival at an mbarrier publishes that reads are
// done, which orders later writes after them, but publishes no writes; this knowledge propagates only through
// mbarriers.
//
// There is one vector clock per warp: a lane has its own only while it alone has learned something (it waited
// for an mbarrier, and its warp has not synchronised since).
//===----------------------------------------------------------------------===//
#pragma once

#include "emulator/host/State.h"

namespace ingot::emulator {

inline bool isChecked(const Fiber &fiber) { return fiber.block->cluster->launch->checked; }

// Vector clocks. A row has Cluster::clockWidth entries.
u32 *rowOf(Fiber &fiber);
u32 *ownRow(Fiber &fiber); ///< for changes to this lane alone
void mergeRow(Cluster &cluster, u32 *into, const u32 *from);
/// Merges the clocks of all fibers of the set and `more` (may be null) into each of them.
void join(Fiber *const *set, size_t count, const u32 *more);
/// Merges the fiber's knowledge and own clock into `row`; its later accesses are not covered.
void publish(Fiber &fiber, u32 *row);
/// Merges into `reads` the fiber's own reads so far, and the reads of others that it knows to be done.
void publishReads(Fiber &fiber, std::vector<u32> &reads);
/// Merges knowledge of completed reads; both vectors grow as needed.
void mergeReads(std::vector<u32> &into, const std::vector<u32> &from);
u32 copyEngine(const Block &block, u32 mbarrierIndex);
u32 storeEngine(const Block &block);
u32 tensorEngine(const Block &block, u32 warpgroup);

/// The agent of an access: a thread, or an engine acting for it.
struct Actor {
  Fiber &fiber; ///< the fiber that provides the vector clock
  u32 id, clock;
  bool engine = false, atomic = false;
};
inline Actor asThread(Fiber &fiber) { return {fiber, fiber.clockId, fiber.clock}; }

/// The window offset of p within the cluster; false: not shared memory.
inline bool inShared(const Fiber &fiber, const void *p, u32 &place) {
  const Cluster &cluster = *fiber.block->cluster;
  const u64 offset = u64(p) - u64(cluster.shared.data());
  place = u32(offset);
  return offset < u64(cluster.blocks.size()) * kWindow;
}
void sharedAccess(Actor actor, u32 place, u32 bytes, bool write, Where where);
void globalAccess(Fiber &fiber, const void *p, u32 bytes, bool write, Where where,
                  bool atomic = false);
/// Returns whether some of these bytes of a buffer were never written.
bool neverWritten(Fiber &fiber, const void *p, u32 bytes);
/// Marks the bytes of a new array as never written.
void declareCells(Block &block, u32 offset, u32 bytes);
/// Marks bytes that a cp.async has begun to write, or has written.
void markInFlight(Block &block, u32 offset, u32 bytes);
void markLanded(Fiber &fiber, u32 offset, u32 bytes);

} // namespace ingot::emulator
