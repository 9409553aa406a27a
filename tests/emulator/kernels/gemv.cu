// y = W rmsnorm(x): two rows per block, 128 threads along K; weights go to registers before the
// dependency wait. W is packed [rows / 2][K / 8][2][8] in bf16.
//
// "bug N" marks the line at which the checks must find bug N (compile with -DBUG=N).
#include "device.cuh"

#ifndef BUG
#define BUG 0
#endif

template <int K>
DEVICE void gemv(float *y, const uint4 *w, const float *x, const float *gamma, u32 rows) {
  constexpr int kChunks = K / 8, kSteps = (kChunks + 63) / 64;
  SHARED(float, partial, [4]);
  SHARED(float, out, [4][2]);
  const int tid = threadIdx.x, row = tid & 1, laneK = tid >> 1, warp = tid >> 5;
  pdl_launch();
  uint4 weights[kSteps];
  w += (u64)blockIdx.x * kChunks * 2;
  UNROLL
  for (int s = 0; s < kSteps; s++) {
    const int chunk = s * 64 + laneK;
    weights[s] = chunk < kChunks ? ld_stream(w + chunk * 2 + row) : uint4{0, 0, 0, 0};
    keep(weights[s]);
  }
  float square = 0;
#if BUG == 1
  square += 0 * x[tid]; // bug 1: activations before the wait
#endif
#if BUG != 8
  pdl_wait();
#endif
  for (int i = tid; i < K; i += 128)
    square += x[i] * x[i];
  square = warp_sum(square);
#if BUG == 9
  if ((tid & 31) < 16)
    square += warp_any(square > 3); // bug 9: half a warp votes
#endif
  if ((tid & 31) == 0)
    partial[warp] = square; // bug 2
#if BUG != 2
  sync_block();
#endif
  const float mean = (partial[0] + partial[1] + partial[2] + partial[3]) / K; // bug 2: no barrier
  const float scale = rsqrt_f32(mean + 1e-5f);
  float sum = 0;
  UNROLL
  for (int s = 0; s < kSteps; s++) {
    const int k = (s * 64 + laneK) * 8;
    if (k < K) {
      const u32 words[4] = {weights[s].x, weights[s].y, weights[s].z, weights[s].w};
      UNROLL
      for (int j = 0; j < 4; j++) {
        sum = fma_f32(bf16_lo(words[j]), x[k + 2 * j] * gamma[k + 2 * j], sum);
        sum = fma_f32(bf16_hi(words[j]), x[k + 2 * j + 1] * gamma[k + 2 * j + 1], sum);
      }
    }
  }
  sum = warp_sum<16, 2>(sum * scale);
  if ((tid & 31) < 2 && (BUG != 3 || warp < 3)) // bug 3 leaves a slot unwritten
    out[BUG == 4 ? warp + 8 : warp][row] = sum; // bug 4: past the array
  if (BUG == 6 && tid >= 64)
    return;
  if (BUG == 5 && tid >= 64)
    sync_block(); // bug 5: half of the block waits elsewhere
  else
    sync_block(); // bug 5, bug 6: half of the block never comes
  const u32 first = blockIdx.x * 2;
  if (tid < 2 && first + tid < rows)
    y[first + tid] = out[0][tid] + out[1][tid] + out[2][tid] + out[3][tid]; // bug 3
#if BUG == 7
  if (tid == 0)
    y[first + 2] = 0; // bug 7: past its rows
#endif
#if BUG == 13
  if (tid == 0)
    *(u64 *)((u32 *)y + 1) = 0; // bug 13: eight bytes at a multiple of four
#endif
#if BUG == 14
  if (tid == 0)
    ((uint4 *)w)[0] = weights[0]; // bug 14: weights are constant
#endif
}

KERNEL void __launch_bounds__(128) negate(float *x, u32 n) {
  pdl_launch();
  pdl_wait();
  const u32 i = blockIdx.x * 128 + threadIdx.x;
  if (i < n)
    x[i] = -x[i];
}
EXPORT_KERNEL(negate)

KERNEL void __launch_bounds__(128)
    gemv_576(float *y, const uint4 *w, const float *x, const float *gamma, u32 rows) {
  gemv<576>(y, w, x, gamma, rows);
}
EXPORT_KERNEL(gemv_576)

KERNEL void __launch_bounds__(128)
    gemv_1536(float *y, const uint4 *w, const float *x, const float *gamma, u32 rows) {
  gemv<1536>(y, w, x, gamma, rows);
}
EXPORT_KERNEL(gemv_1536)
