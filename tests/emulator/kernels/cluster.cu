// In cluster_sum, every block adds up the values of all blocks of its cluster. In cluster_ring, block r sends to block
// r + 1 and signals it through the peer's mbarrier.
#include "device.cuh"

#ifndef BUG
#define BUG 0
#endif

#if DEVICE_HAS_TMA
KERNEL void __launch_bounds__(64) cluster_sum(float *y, const float *x) {
  SHARED(float, mine, [64]);
  const u32 tid = threadIdx.x;
  pdl_launch();
  pdl_wait();
  mine[tid] = x[blockIdx.x * 64 + tid]; // bug 50, bug 54
#if BUG == 54
  cluster_arrive_relaxed(); // does not publish `mine`
  cluster_wait();
#elif BUG != 50
  cluster_sync();
#endif
  float total = 0;
  for (u32 r = 0; r < cluster_size(); r++)
    total += cluster_map(mine, r)[tid]; // bug 50: before the peers wrote; bug 51, bug 54
#if BUG != 51
  cluster_sync(); // otherwise a block would leave while a peer still reads
#endif
#if BUG == 51
  if (cluster_rank() == 1) {
    sync_block();
    sync_block();
  }
  else
    return;
  total += cluster_map(mine, 0)[tid]; // bug 51: block 0 has left
#endif
  y[blockIdx.x * 64 + tid] = total;
}
EXPORT_KERNEL(cluster_sum)

KERNEL void __launch_bounds__(64) cluster_ring(float *y, const float *x) {
  SHARED(float, inbox, [64]);
  SHARED(u64, arrived, [1]);
  const u32 tid = threadIdx.x, next = (cluster_rank() + 1) % cluster_size();
  pdl_launch();
  pdl_wait();
  if (tid == 0) {
    mbar_init(arrived, 64);
    fence_mbar_init();
  }
  cluster_sync();
  cluster_map(inbox, next)[tid] = x[blockIdx.x * 64 + tid]; // bug 52, bug 53
#if BUG == 53
  mbar_arrive_remote_relaxed(arrived, next); // does not publish what was written
#else
  mbar_arrive_remote(arrived, next);
#endif
#if BUG != 52
  mbar_wait_cluster(arrived, 0);
#endif
  y[blockIdx.x * 64 + tid] = inbox[63 - tid]; // bug 52: has it come? bug 53
  cluster_sync();
}
EXPORT_KERNEL(cluster_ring)

/// The first block brings each half of x to both blocks of the cluster.
KERNEL void __launch_bounds__(32) cluster_multicast(float *y, const float *x) {
  SHARED(float, both, [64]);
  SHARED(u64, full, [1]);
  const u32 tid = threadIdx.x, rank = cluster_rank();
  pdl_launch();
  pdl_wait();
  if (tid == 0) {
    mbar_init(full, 1);
    fence_mbar_init();
    mbar_arrive_expect_tx(full, 256);
  }
  cluster_sync();
  if (tid == 0)
    bulk_load_multicast(both + rank * 32, x + rank * 32, 128, full, 3);
  mbar_wait(full, 0);
  y[blockIdx.x * 64 + tid] = both[tid];
  y[blockIdx.x * 64 + 32 + tid] = both[32 + tid];
  cluster_sync();
}
EXPORT_KERNEL(cluster_multicast)
#endif
