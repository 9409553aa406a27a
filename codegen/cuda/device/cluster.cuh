//===- cluster.cuh - Blocks that share their shared memory ------------------===//
//
// A launch sets the cluster's extents. A block may access a peer's memory after the cluster's first
// barrier, and must not exit while a peer may still access its own.
//===----------------------------------------------------------------------===//
#pragma once

#if DEVICE_HAS_TMA
DEVICE u32 cluster_rank() {
  u32 r;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
DEVICE u32 cluster_size() {
  u32 r;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
  return r;
}
/// Arrives at the barrier of all threads of all blocks. Memory written before arrive is visible after
/// wait.
DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
/// Does the same as cluster_arrive, but without its fence, which would wait for loads in flight. After the wait, the
/// only earlier writes that are sure to be visible are mbarrier initialisations before fence_mbar_init. Use it for the
/// cluster's first barrier, and for a last barrier that only keeps blocks from exiting.
DEVICE void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
/// Returns the address of the same object in the shared memory of block `rank`, for plain reads and
/// writes.
template <class T> DEVICE T *cluster_map(T *shared, u32 rank) {
  u64 peer;
  asm("mapa.u64 %0, %1, %2;" : "=l"(peer) : "l"((u64)shared), "r"(rank));
  return (T *)peer;
}
/// Arrives at the mbarrier at bar's offset in block `rank`; releases to the cluster.
DEVICE void mbar_arrive_remote(u64 *bar, u32 rank) {
  asm volatile(
      "{.reg .b32 peer; mapa.shared::cluster.u32 peer, %0, %1; "
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer];}" ::"r"(shared_address(bar)),
      "r"(rank)
      : "memory");
}
/// Does the same as mbar_arrive_remote, but does not release the thread's writes to the other blocks. Use it if the
/// thread has only read data, which other threads may now overwrite. A release to the cluster is a fence that waits for
/// every load of the thread, including loads that should stay in flight, so main loops must avoid it.
DEVICE void mbar_arrive_remote_relaxed(u64 *bar, u32 rank) {
  asm volatile("{.reg .b32 peer; mapa.shared::cluster.u32 peer, %0, %1; "
               "mbarrier.arrive.shared::cluster.b64 _, [peer];}" ::"r"(shared_address(bar)),
               "r"(rank)
               : "memory");
}
/// Does the same as mbar_wait, for an mbarrier at which other blocks of the cluster arrive. It acquires the writes of
/// these blocks.
DEVICE void mbar_wait_cluster(u64 *bar, u32 parity) {
  u32 done = 0;
  while (!done)
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
        "selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(shared_address(bar)), "r"(parity)
        : "memory");
}
#endif

#if DEVICE_HAS_MAXNREG
/// Moves registers between the warpgroups of a block. All warps of a warpgroup call it. Registers is a
/// multiple of 8.
template <int Registers> DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
#endif
