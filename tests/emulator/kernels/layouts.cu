// Raw fragments: each lane's registers go to global memory without rearrangement.
#include "device.cuh"

/// out [matrices][32] words. in: 16-bit values [matrices][8][8].
template <int Matrices, bool Transposed> DEVICE void loadMatrices(u32 *out, const uint4 *in) {
  SHARED(uint4, rows, [32]);
  const u32 lane = threadIdx.x;
  pdl_wait();
  rows[lane] = lane < Matrices * 8 ? in[lane] : uint4{0, 0, 0, 0};
  sync_warp();
  u32 r[Matrices];
  const void *row = rows + lane % (Matrices * 8);
  if constexpr (Matrices == 1 && !Transposed)
    ldmatrix_x1(r, row);
  if constexpr (Matrices == 1 && Transposed)
    ldmatrix_x1_trans(r, row);
  if constexpr (Matrices == 2 && !Transposed)
    ldmatrix_x2(r, row);
  if constexpr (Matrices == 2 && Transposed)
    ldmatrix_x2_trans(r, row);
  if constexpr (Matrices == 4 && !Transposed)
    ldmatrix_x4(r, row);
  if constexpr (Matrices == 4 && Transposed)
    ldmatrix_x4_trans(r, row);
  for (int i = 0; i < Matrices; i++)
    out[i * 32 + lane] = r[i];
}
#define LDMATRIX(name, matrices, transposed)                                                       \
  KERNEL void __launch_bounds__(32) name(u32 *out, const uint4 *in) {                              \
    loadMatrices<matrices, transposed>(out, in);                                                   \
  }                                                                                                \
  EXPORT_KERNEL(name)
LDMATRIX(ldmatrix_1, 1, false)
LDMATRIX(ldmatrix_2, 2, false)
LDMATRIX(ldmatrix_4, 4, false)
LDMATRIX(ldmatrix_1t, 1, true)
LDMATRIX(ldmatrix_2t, 2, true)
LDMATRIX(ldmatrix_4t, 4, true)

/// a [4][32], b [2][32], d [4][32]: register by register.
#define MMA(name, word, T)                                                                         \
  KERNEL void __launch_bounds__(32) name(T *d, const u32 *a, const u32 *b) {                       \
    const u32 lane = threadIdx.x;                                                                  \
    pdl_wait();                                                                                    \
    u32 fa[4], fb[2];                                                                              \
    T fd[4];                                                                                       \
    for (int i = 0; i < 4; i++) {                                                                  \
      fa[i] = a[i * 32 + lane];                                                                    \
      fd[i] = d[i * 32 + lane];                                                                    \
    }                                                                                              \
    for (int i = 0; i < 2; i++)                                                                    \
      fb[i] = b[i * 32 + lane];                                                                    \
    word(fd, fa, fb);                                                                              \
    for (int i = 0; i < 4; i++)                                                                    \
      d[i * 32 + lane] = fd[i];                                                                    \
  }                                                                                                \
  EXPORT_KERNEL(name)
MMA(layout_bf16, mma_bf16, float)
MMA(layout_f16, mma_f16, float)
MMA(layout_s8, mma_s8, i32)
#if DEVICE_HAS_E4M3
MMA(layout_e4m3, mma_e4m3, float)
#endif

/// Two by three tiles of f16: which register belongs to which tile.
KERNEL void __launch_bounds__(32) layout_tile(float *d, const u32 *a, const u32 *b) {
  const u32 lane = threadIdx.x;
  pdl_wait();
  u32 fa[2][4], fb[3][2];
  float fd[2][3][4] = {};
  for (int i = 0; i < 8; i++)
    fa[i / 4][i % 4] = a[i * 32 + lane];
  for (int i = 0; i < 6; i++)
    fb[i / 2][i % 2] = b[i * 32 + lane];
  mma_tile<Mma::f16>(fd, fa, fb);
  for (int i = 0; i < 24; i++)
    d[i * 32 + lane] = fd[i / 12][i / 4 % 3][i % 4];
}
EXPORT_KERNEL(layout_tile)

#if DEVICE_HAS_WGMMA
USE_WGMMA(8)
USE_WGMMA(64)
USE_WGMMA(256)

/// tile: (64 + N) rows of 128 bytes as stored in shared memory. d [N / 2][128] sums, register by
/// register; a [4][128] words if A comes from registers. step: index of 16 k within the row.
template <int N, Wgmma Kind, bool Registers>
DEVICE void wgmmaLayout(float *d, const uint4 *tile, const u32 *a, u32 step, u32 accumulate) {
  DYNAMIC_SHARED(smem);
  const u32 tid = threadIdx.x;
  pdl_wait();
  for (u32 i = tid; i < (64 + N) * 8; i += 128)
    ((uint4 *)smem)[i] = tile[i];
  float sums[N / 2];
  for (int i = 0; i < N / 2; i++)
    sums[i] = d[i * 128 + tid];
  u32 fa[4];
  for (int i = 0; i < 4; i++)
    fa[i] = a[i * 128 + tid];
  fence_proxy_async();
  sync_block();
  wgmma_fence();
  const u64 b = wgmma_descriptor(smem + 64 * 128 + step * 32);
  if constexpr (Registers)
    wgmma_rs<N, Kind>(sums, fa, b, accumulate);
  else
    wgmma_ss<N, Kind>(sums, wgmma_descriptor(smem + step * 32), b, accumulate);
  wgmma_commit();
  wgmma_wait<0>();
  for (int i = 0; i < N / 2; i++)
    d[i * 128 + tid] = sums[i];
}
#define WGMMA(name, n, kind, registers)                                                            \
  KERNEL void __launch_bounds__(128)                                                               \
      name(float *d, const uint4 *tile, const u32 *a, u32 step, u32 accumulate) {                  \
    wgmmaLayout<n, Wgmma::kind, registers>(d, tile, a, step, accumulate);                          \
  }                                                                                                \
  EXPORT_KERNEL(name)
WGMMA(wgmma_ss_8, 8, bf16, false)
WGMMA(wgmma_ss_64, 64, f16, false)
WGMMA(wgmma_ss_256, 256, bf16, false)
WGMMA(wgmma_rs_64, 64, bf16, true)
WGMMA(wgmma_ss_e4m3, 64, e4m3, false)
WGMMA(wgmma_rs_e4m3, 64, e4m3, true)

/// Descriptors, for tiles at 0, 32 and 1024 bytes.
KERNEL void __launch_bounds__(1) descriptors(u64 *out) {
  DYNAMIC_SHARED(tiles);
  pdl_wait();
  out[0] = wgmma_descriptor(tiles);
  out[1] = wgmma_descriptor(tiles + 32);
  out[2] = wgmma_descriptor(tiles + 1024);
}
EXPORT_KERNEL(descriptors)
#endif
