// y = W x: a producer warp streams 4 KB tiles (4 rows x 512) through a ring of four stages with bulk
// copies; consumer warp r owns row r of a tile. The result leaves by a bulk store.
#include "device.cuh"

#ifndef BUG
#define BUG 0
#endif

#if DEVICE_HAS_TMA
constexpr int kTile = 4096, kStages = 4;

KERNEL void __launch_bounds__(160) stream_gemv(float *y, const u16 *w, const float *x, int k) {
  SHARED(u64, full, [kStages]);
  SHARED(u64, empty, [kStages]);
  SHARED(float, sums, [4]);
  DYNAMIC_SHARED(smem); // the stages, then x in f32
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, tiles = k / 512;
  float *sx = (float *)(smem + kStages * kTile);
  pdl_launch();
  pdl_wait();
  if (tid == 0) {
    for (int i = 0; i < kStages; i++) {
      mbar_init(full + i, 1);
      mbar_init(empty + i, 4);
    }
    fence_mbar_init();
  }
  for (int i = tid; i < k; i += 160)
    sx[i] = x[i];
#if BUG != 25
  sync_block();
#endif
  const u8 *from = (const u8 *)w + (u64)blockIdx.x * tiles * kTile;
  if (warp == 4) {
    if (lane == 0)
      for (int t = 0; t < tiles; t++) {
        const int s = t % kStages;
        if (BUG != 20 && t >= kStages)
          mbar_wait(empty + s, (t / kStages - 1) & 1);
#if BUG == 24
        mbar_arrive(full + s);
#else
        mbar_arrive_expect_tx(full + s, kTile); // bug 20, bug 25
#endif
        u8 *to = smem + s * kTile;
        bulk_load(to, from + t * kTile, BUG == 21 ? kTile / 2 : kTile, full + s); // bug 20, bug 22, bug 23, bug 24
      }
  } else {
    float sum = 0;
    for (int t = 0; t < tiles; t++) {
      const int s = t % kStages;
#if BUG != 22
      mbar_wait(full + s, (t / kStages) & 1); // bug 25; bug 21 waits for ever
#endif
      const uint4 *row = (const uint4 *)(smem + s * kTile + warp * 1024);
      for (int i = lane; i < 64; i += 32) {
        const uint4 v = row[i]; // bug 22, bug 23, bug 24
        const u32 words[4] = {v.x, v.y, v.z, v.w};
        for (int j = 0; j < 4; j++) {
          sum = fma_f32(bf16_lo(words[j]), sx[t * 512 + i * 8 + 2 * j], sum);
          sum = fma_f32(bf16_hi(words[j]), sx[t * 512 + i * 8 + 2 * j + 1], sum);
        }
      }
#if BUG != 23
      sync_warp(); // otherwise lane 0 frees the stage while its neighbours read
#endif
      if (lane == 0)
        mbar_arrive(empty + s); // bug 20
    }
    sum = warp_sum(sum);
    if (lane == 0)
      sums[warp] = sum; // bug 26
#if BUG != 26
    fence_proxy_async();
#endif
    sync_named(1, 128);
    if (tid == 0) {
      bulk_store(y + blockIdx.x * 4, sums, 16); // bug 26: sums not fenced for the async proxy
      bulk_commit();
#if BUG != 27
      bulk_wait_read<0>();
#endif
    }
  }
}
EXPORT_KERNEL(stream_gemv)
#endif
