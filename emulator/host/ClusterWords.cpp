//===- ClusterWords.cpp - Rank, barrier and peers of a cluster ---------------===//
#include "emulator/host/Races.h"
#include "emulator/host/Scheduler.h"

#include <algorithm>

namespace ingot::emulator {

/// Called when a thread has arrived or exited: if it was the last one, the phase ends.
void clusterArrived(Cluster &cluster) {
  if (!cluster.clusterArrived || cluster.clusterArrived != cluster.alive)
    return;
  cluster.clusterArrived = 0;
  cluster.clusterPhase++;
  if (cluster.launch->checked)
    mergeRow(cluster, cluster.clusterFinished.data(), cluster.clusterCurrent.data());
  for (Fiber *fiber : cluster.clusterWaiting) {
    if (cluster.launch->checked)
      mergeRow(cluster, ownRow(*fiber), cluster.clusterFinished.data());
    wake(*fiber);
  }
  cluster.clusterWaiting.clear();
}

} // namespace ingot::emulator

using namespace ingot::emulator;

namespace emu {
inline namespace v1 {

u32 clusterRank() { return self->block->rank; }
u32 clusterSize() { return u32(self->block->cluster->blocks.size()); }

void clusterArrive(bool relaxed, Site site) {
  Fiber &fiber = *self;
  Cluster &cluster = *fiber.block->cluster;
  if (fiber.clusterPhase > cluster.clusterPhase)
    fail(fiber, Rule::Cluster, "cluster_arrive twice without cluster_wait", Where(site));
  if (isChecked(fiber) && !relaxed)
    publish(fiber, cluster.clusterCurrent.data());
  else if (isChecked(fiber))
    cluster.clusterCurrent[fiber.clockId] =
        std::max(cluster.clusterCurrent[fiber.clockId], fiber.mbarInitClock);
  fiber.clusterPhase = cluster.clusterPhase + 1;
  cluster.clusterArrived++;
  clusterArrived(cluster);
}

Switch clusterWait(Site site) {
  Fiber &fiber = *self;
  Cluster &cluster = *fiber.block->cluster;
  if (!fiber.clusterPhase)
    fail(fiber, Rule::Cluster, "cluster_wait without cluster_arrive", Where(site));
  if (cluster.clusterPhase < fiber.clusterPhase) {
    cluster.clusterWaiting.push_back(&fiber);
    return suspend(fiber, "cluster_wait", site);
  }
  if (isChecked(fiber))
    mergeRow(cluster, ownRow(fiber), cluster.clusterFinished.data());
  return {};
}

void *clusterMap(void *shared, u32 rank, Site site) {
  Fiber &fiber = *self;
  Cluster &cluster = *fiber.block->cluster;
  u32 place;
  if (!inShared(fiber, shared, place))
    fail(fiber, Rule::Cluster, "cluster_map takes an address in shared memory", Where(site));
  if (rank >= cluster.blocks.size())
    fail(fiber, Rule::Cluster, "no block " + std::to_string(rank) + " in the cluster", Where(site));
  return cluster.shared.data() + size_t(rank) * kWindow + place % kWindow;
}

} // namespace v1
} // namespace emu
