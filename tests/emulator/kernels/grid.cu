// Blocks meet through counters in global memory. In grid_phases, all blocks are resident. In last_block, the last block
// to arrive sums what the others wrote.
#include "device.cuh"

#ifndef BUG
#define BUG 0
#endif

KERNEL void __launch_bounds__(64)
    grid_phases(float *y, float *partial, u32 *counter, const float *x) {
  SHARED(float, sums, [2]);
  const int tid = threadIdx.x;
  pdl_launch();
  pdl_wait();
  const float s = warp_sum(x[blockIdx.x * 64 + tid]);
  if ((tid & 31) == 0)
    sums[tid >> 5] = s;
  sync_block();
  if (tid == 0) {
    partial[blockIdx.x] = sums[0] + sums[1];
#if BUG != 41
    add_release(counter, 1);
#endif
#if BUG != 40
    spin_until(counter, gridDim.x); // bug 41: no block adds
#endif
  }
  sync_block();
  float total = 0;
  for (u32 i = 0; i < gridDim.x; i++)
    total += partial[i]; // bug 40: without waiting
  y[blockIdx.x * 64 + tid] = total;
}
EXPORT_KERNEL(grid_phases)

KERNEL void __launch_bounds__(64)
    last_block(float *y, float *partial, u32 *counter, const float *x) {
  SHARED(u32, isLast, [1]);
  const int tid = threadIdx.x;
  pdl_launch();
  pdl_wait();
  const float s = warp_sum(x[blockIdx.x * 64 + tid]);
  if ((tid & 31) == 0)
    partial[blockIdx.x * 2 + (tid >> 5)] = s;
  sync_block();
  if (tid == 0) {
#if BUG == 42
    isLast[0] = atomic_add(counter, 1u) == gridDim.x - 1;
#else
    isLast[0] = add_acq_rel(counter, 1) == gridDim.x - 1;
#endif
  }
  sync_block();
  if (isLast[0] && tid == 0) {
    float total = 0;
    for (u32 i = 0; i < gridDim.x * 2; i++)
      total += partial[i]; // bug 42: the counter orders nothing
    y[0] = total;
  }
}
EXPORT_KERNEL(last_block)
