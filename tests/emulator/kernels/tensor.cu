// Tensor copies load boxes of a matrix. A box has 16 rows x 64 bf16 and is swizzled. Its values come out in order, so
// the test sees where the copy put them, and what it wrote for positions outside the matrix.
#include "device.cuh"

#ifndef BUG
#define BUG 0
#endif

#if DEVICE_HAS_TMA
KERNEL void __launch_bounds__(128) tensor_box(u16 *out, const TensorMap *map, i32 x, i32 y) {
  DYNAMIC_SHARED(smem);
  SHARED(u64, full, [1]);
  const int tid = threadIdx.x;
  pdl_launch();
  pdl_wait();
  if (tid == 0) {
    mbar_init(full, 1);
    fence_mbar_init();
  }
  sync_block();
  if (tid == 0) {
    tensor_prefetch(map);
#if BUG == 60
    mbar_arrive(full); // forgets the bytes
#else
    mbar_arrive_expect_tx(full, 2048);
#endif
    tensor_load_2d(smem + (BUG == 61 ? 256 : 0), map, x, y, full); // bug 60, bug 61
  }
  mbar_wait(full, 0);
  for (int i = tid; i < 128; i += 128) {
    const uint4 v = *(const uint4 *)(smem + swizzle128(i * 16)); // bug 60
    ((uint4 *)out)[i] = v; // bug 60
  }
}
EXPORT_KERNEL(tensor_box)

/// The raw image of the box in shared memory.
KERNEL void __launch_bounds__(128) tensor_image(uint4 *out, const TensorMap *map) {
  DYNAMIC_SHARED(smem);
  SHARED(u64, full, [1]);
  const int tid = threadIdx.x;
  pdl_launch();
  pdl_wait();
  if (tid == 0) {
    mbar_init(full, 1);
    fence_mbar_init();
  }
  sync_block();
  if (tid == 0) {
    mbar_arrive_expect_tx(full, 2048);
    tensor_load_2d(smem, map, 0, 0, full);
  }
  mbar_wait(full, 0);
  out[tid] = ((const uint4 *)smem)[tid];
}
EXPORT_KERNEL(tensor_image)

/// A cluster of two takes boxes of 16 rows x 64 from left to right through a ring of two stages:
/// each block copies eight rows to both, and both signal when a stage is free.
KERNEL void __launch_bounds__(64)
    tensor_ring(uint4 *out, i32 steps, const __grid_constant__ TensorMap map) {
  DYNAMIC_SHARED(smem);
  SHARED(u64, full, [2]);
  SHARED(u64, empty, [2]);
  const u32 tid = threadIdx.x, rank = cluster_rank();
  pdl_launch();
  pdl_wait();
  if (tid == 0) {
    for (int s = 0; s < 2; s++) {
      mbar_init(full + s, 1);
      mbar_init(empty + s, 2);
    }
    fence_mbar_init();
  }
  cluster_sync();
  if (tid == 32) {
    for (i32 i = 0; i < steps; i++) {
      const i32 s = i % 2;
#if BUG != 63
      if (i >= 2)
        mbar_wait(empty + s, (i / 2 - 1) & 1); // bug 64: block 1 gets no signal
#endif
      mbar_arrive_expect_tx(full + s, BUG == 62 ? 1024 : 2048); // bug 63: the last phase goes on
      tensor_load_2d_multicast(smem + s * 2048 + rank * 1024, &map, i * 64, rank * 8, // bug 62, bug 63, bug 64
                               full + s, 3); // bug 62, bug 63, bug 64
    }
  } else if (tid < 32) {
    for (i32 i = 0; i < steps; i++) {
      const i32 s = i % 2;
      mbar_wait(full + s, i / 2 & 1); // bug 64
      for (u32 chunk = tid; chunk < 128; chunk += 32)
        out[(blockIdx.x * steps + i) * 128 + chunk] =
            *(const uint4 *)(smem + s * 2048 + swizzle128(chunk * 16)); // bug 62, bug 63
      sync_warp();
      if (tid < (BUG == 64 ? 1 : 2))
        mbar_arrive_remote_relaxed(empty + s, tid);
    }
  }
  sync_warp();
  cluster_sync(); // bug 64
}
EXPORT_KERNEL(tensor_ring)
#endif
