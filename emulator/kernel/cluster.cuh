//===- cluster.cuh - Blocks that share their shared memory ------------------===//
#pragma once

#if DEVICE_HAS_TMA
DEVICE u32 cluster_rank() { return emu::clusterRank(); }
DEVICE u32 cluster_size() { return emu::clusterSize(); }
DEVICE void cluster_arrive(INGOT_SITE) { emu::clusterArrive(false, site); }
DEVICE void cluster_arrive_relaxed(INGOT_SITE) { emu::clusterArrive(true, site); }
DEVICE void cluster_wait(INGOT_SITE) { emu::switchTo(emu::clusterWait(site)); }
DEVICE void cluster_sync(INGOT_SITE) {
  emu::clusterArrive(false, site);
  emu::switchTo(emu::clusterWait(site));
}
template <class T> DEVICE T *cluster_map(T *shared, u32 rank, INGOT_SITE) {
  return (T *)emu::clusterMap((void *)shared, rank, site);
}
DEVICE void mbar_arrive_remote(u64 *bar, u32 rank, INGOT_SITE) {
  emu::mbarArriveRemote(bar, rank, false, site);
}
DEVICE void mbar_arrive_remote_relaxed(u64 *bar, u32 rank, INGOT_SITE) {
  emu::mbarArriveRemote(bar, rank, true, site);
}
DEVICE void mbar_wait_cluster(u64 *bar, u32 parity, INGOT_SITE) {
  emu::switchTo(emu::mbarWait(bar, parity, site));
}
#endif

#if DEVICE_HAS_MAXNREG
template <int Registers> DEVICE void setmaxnreg_inc() {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256, "24, 32, … 256");
}
template <int Registers> DEVICE void setmaxnreg_dec() {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256, "24, 32, … 256");
}
#endif
