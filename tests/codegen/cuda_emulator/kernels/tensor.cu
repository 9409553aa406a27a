// Boxes of a matrix by tensor copies. A box of 16 rows x 64 bf16, swizzled; its values come out in
// order, so the test sees where the copy put them and what lay outside the matrix.
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
#endif
