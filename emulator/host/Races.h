//===- Races.h - Every access of a checked kernel ---------------------------===//
//
// Races in shared memory by FastTrack (Flanagan and Freund, PLDI 2009), on any schedule and also
// when the numbers happen to be right: every word knows its last writer and two readers as (who,
// clock); every thread has a vector clock of what it knows of others. An access is ordered after
// another if the thread's clock of that other has reached the access. Barriers, mbarriers and
// sync_warp pass knowledge on. Shuffles and mma do not, as in PTX.
// A relaxed arrival at an mbarrier passes on that reads are done, which orders later writes after
// them, and nothing of writes; that knowledge travels over mbarriers alone.
//
// One vector clock per warp: a lane has its own only while it alone learned something (it waited
// for an mbarrier, and its warp has not met since).
//===----------------------------------------------------------------------===//
#pragma once

#include "emulator/host/State.h"

namespace ingot::emulator {

inline bool isChecked(const Fiber &fiber) { return fiber.block->cluster->launch->checked; }

// Vector clocks. A row has Cluster::clockWidth entries.
u32 *rowOf(Fiber &fiber);
u32 *ownRow(Fiber &fiber); ///< to be changed for this lane alone
void mergeRow(Cluster &cluster, u32 *into, const u32 *from);
/// All learn what each knows and what `more` (or null) says.
void join(Fiber *const *set, size_t count, const u32 *more);
/// Into `row`: what the fiber knows and did; its later accesses are not covered.
void publish(Fiber &fiber, u32 *row);
/// Into `reads`: that the fiber's reads so far are done, and those that it knows to be done.
void publishReads(Fiber &fiber, std::vector<u32> &reads);
/// Passes on what is known of reads; both grow as they need.
void mergeReads(std::vector<u32> &into, const std::vector<u32> &from);
u32 copyEngine(const Block &block, u32 mbarrierIndex);
u32 storeEngine(const Block &block);
u32 tensorEngine(const Block &block, u32 warpgroup);

/// Who touches: a thread, or an engine at its behest.
struct Actor {
  Fiber &fiber; ///< whose knowledge counts
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
/// A buffer's bytes that nobody has written.
bool neverWritten(Fiber &fiber, const void *p, u32 bytes);
/// A new array: written by nobody.
void declareCells(Block &block, u32 offset, u32 bytes);
/// cp.async has begun to write, and has landed.
void markInFlight(Block &block, u32 offset, u32 bytes);
void markLanded(Fiber &fiber, u32 offset, u32 bytes);

} // namespace ingot::emulator
