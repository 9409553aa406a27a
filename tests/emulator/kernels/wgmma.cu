// C[64][16] = A[64][K] B[16][K]^T with wgmma from 128-byte swizzled shared memory; one warpgroup.
// wgmma_64x24_rs takes A from registers.
#include "device.cuh"

#ifndef BUG
#define BUG 0
#endif

#if DEVICE_HAS_WGMMA
USE_WGMMA(16)
USE_WGMMA(24)

KERNEL void __launch_bounds__(128) wgmma_64x16(float *c, const u16 *a, const u16 *b, int k) {
  DYNAMIC_SHARED(smem);
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  pdl_launch();
  pdl_wait();
  float acc[8] = {};
  u8 *tileA = smem, *tileB = smem + 64 * 128;
  for (int k0 = 0; k0 < k; k0 += 64) {
    for (int i = tid; i < (64 + 16) * 8; i += 128) {
      const int row = i >> 3, chunk = i & 7;
      const u16 *from = row < 64 ? a + (u64)row * k : b + (u64)(row - 64) * k;
      *(uint4 *)(smem + swizzle128(row * 128 + chunk * 16)) = *(const uint4 *)(from + k0 + chunk * 8); // bug 30, bug 31
    }
#if BUG != 30
    fence_proxy_async();
#endif
    sync_block();
#if BUG != 32
    wgmma_fence();
#endif
    for (int kk = 0; kk < 4; kk++) {
      const u64 da = wgmma_descriptor(tileA + kk * 32), db = wgmma_descriptor(tileB + kk * 32);
      wgmma_ss<16>(acc, da, db); // bug 30, bug 31, bug 32
    }
    wgmma_commit();
#if BUG != 31
    wgmma_wait<0>();
#endif
    sync_block();
  }
  for (int j = 0; j < 2; j++)
    for (int e = 0; e < 4; e++) {
      const int row = warp * 16 + (lane >> 2) + (e >> 1) * 8;
      c[row * 16 + j * 8 + (lane & 3) * 2 + (e & 1)] = acc[j * 4 + e];
    }
}
EXPORT_KERNEL(wgmma_64x16)

/// A as fragments [K / 16][4 warps][32 lanes][4 words]; two groups in flight.
KERNEL void __launch_bounds__(128) wgmma_64x24_rs(float *c, const uint4 *a, const u16 *b, int k) {
  DYNAMIC_SHARED(smem); // B, all of K: [K / 64][24 rows][128 bytes]
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  pdl_launch();
  pdl_wait();
  constexpr int kTile = 3 * 1024;
  for (int i = tid; i < k / 8 * 24; i += 128) {
    const int row = i / (k / 8), chunk = i % (k / 8);
    u8 *to = smem + chunk / 8 * kTile + swizzle128(row * 128 + chunk % 8 * 16);
    *(uint4 *)to = *(const uint4 *)(b + (u64)row * k + chunk * 8);
  }
  fence_proxy_async();
  sync_block();
  float even[12], odd[12];
  u32 fa[2][4];
  bool started = false;
  for (int step = 0; step < k / 16; step += 2, started = true) {
    for (int h = 0; h < 2; h++) {
      const uint4 v = a[((step + h) * 4 + warp) * 32 + lane];
      fa[h][0] = v.x;
      fa[h][1] = v.y;
      fa[h][2] = v.z;
      fa[h][3] = v.w;
    }
    wgmma_fence();
    const u8 *tile = smem + step / 4 * kTile + step % 4 * 32;
    wgmma_rs<24>(even, fa[0], wgmma_descriptor(tile), started);
    wgmma_commit();
    wgmma_rs<24>(odd, fa[1], wgmma_descriptor(tile + 32), started);
    wgmma_commit();
    wgmma_wait<1>();
    keep(even);
    wgmma_wait<0>();
    keep(odd);
  }
  for (int j = 0; j < 3; j++)
    for (int e = 0; e < 4; e++) {
      const int row = warp * 16 + (lane >> 2) + (e >> 1) * 8;
      c[row * 24 + j * 8 + (lane & 3) * 2 + (e & 1)] = even[j * 4 + e] + odd[j * 4 + e];
    }
}
EXPORT_KERNEL(wgmma_64x24_rs)
#endif
