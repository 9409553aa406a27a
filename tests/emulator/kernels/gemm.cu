// C[M][N] = A[M][K] B[N][K]^T, bf16 in, f32 out: 64 x 64 x 32 tiles, four warps, three stages of
// cp.async, ldmatrix and mma.sync. Any M and N, K a multiple of 8.
#include "device.cuh"

#ifndef BUG
#define BUG 0
#endif

constexpr int kM = 64, kN = 64, kK = 32, kStages = 3;

/// Rows have 64 bytes in four chunks. Pairs of rows share a line of 32 banks.
DEVICE int tileOffset(int row, int chunk) { return (row * 4 + (chunk ^ ((row >> 1) & 3))) * 16; }

KERNEL void __launch_bounds__(128) gemm(float *c, const u16 *a, const u16 *b, int m, int n, int k) {
  DYNAMIC_SHARED(smem);
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int warpM = (warp & 1) * 32, warpN = (warp >> 1) * 32;
  const int m0 = blockIdx.y * kM, n0 = blockIdx.x * kN, steps = (k + kK - 1) / kK;
  constexpr int kStageBytes = (kM + kN) * kK * 2;
  pdl_launch();
  pdl_wait();

  auto load = [&](int step) {
    if (step < steps) {
      u8 *stage = smem + (step % kStages) * kStageBytes;
      for (int i = tid; i < (kM + kN) * 4; i += 128) {
        const bool isB = i >= kM * 4;
        const int row = (isB ? i - kM * 4 : i) >> 2, chunk = i & 3, at = step * kK + chunk * 8;
        const int r = (isB ? n0 : m0) + row, limit = isB ? n : m;
        const bool inside = r < limit && at < k;
        const u16 *from = isB ? b : a;
        u8 *to = stage + (isB ? kM * kK * 2 : 0) + tileOffset(row, chunk);
        cp_async16(to, inside ? from + (u64)r * k + at : from, inside ? 16 : 0); // bug 12, bug 15
      }
    }
    cp_async_commit();
  };

  float acc[2][4][4] = {};
  for (int s = 0; s < kStages - 1; s++)
    load(s);
  for (int step = 0; step < steps; step++) {
    cp_async_wait<BUG == 10 ? kStages - 1 : kStages - 2>(); // bug 10 leaves one group too many
#if BUG != 11
    sync_block();
#endif
    load(step + kStages - (BUG != 12)); // bug 12 fills the stage that is being read
    const u8 *stageA = smem + (step % kStages) * kStageBytes, *stageB = stageA + kM * kK * 2;
#if BUG == 15
    stageA += 8;
#endif
    UNROLL
    for (int kk = 0; kk < kK / 16; kk++) {
      u32 fa[2][4], fb[4][2];
      UNROLL
      for (int i = 0; i < 2; i++) {
        const int row = warpM + i * 16 + (lane & 15);
        ldmatrix_x4(fa[i], stageA + tileOffset(row, kk * 2 + (lane >> 4))); // bug 10, bug 11, bug 15
      }
      UNROLL
      for (int j = 0; j < 2; j++) {
        u32 r[4];
        const int row = warpN + j * 16 + (lane & 7) + ((lane >> 4) << 3);
        ldmatrix_x4(r, stageB + tileOffset(row, kk * 2 + ((lane >> 3) & 1))); // bug 12
        fb[j * 2][0] = r[0];
        fb[j * 2][1] = r[1];
        fb[j * 2 + 1][0] = r[2];
        fb[j * 2 + 1][1] = r[3];
      }
      mma_tile(acc, fa, fb);
    }
  }
#if BUG != 16
  cp_async_wait<0>();
#endif
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++)
      for (int e = 0; e < 4; e++) {
        const int row = m0 + warpM + i * 16 + (lane >> 2) + (e >> 1) * 8;
        const int column = n0 + warpN + j * 8 + (lane & 3) * 2 + (e & 1);
        if (row < m && column < n)
          c[(u64)row * n + column] = acc[i][j][e];
      }
#if BUG == 16
  cp_async16(smem, a); // leaves while the copy is in flight
  cp_async_commit();
#endif
}
EXPORT_KERNEL(gemm)
