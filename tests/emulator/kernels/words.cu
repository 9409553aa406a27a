// One kernel for each primitive or family of primitives; the tests know the expected results.
#include "device.cuh"

/// out [12][32]: shuffles, votes and reductions of one warp over in[32].
KERNEL void __launch_bounds__(32) warp_words(float *out, const float *in) {
  pdl_wait();
  const u32 lane = threadIdx.x;
  const float v = in[lane];
  out[0 * 32 + lane] = shfl_xor(v, 5);
  out[1 * 32 + lane] = shfl_idx(v, (lane * 7) % 32);
  out[2 * 32 + lane] = shfl_up(v, 3);
  out[3 * 32 + lane] = shfl_down(v, 4);
  out[4 * 32 + lane] = as_f32(warp_ballot(v > 0));
  out[5 * 32 + lane] = warp_any(v > 0.9f) ? 1 : 0;
  out[6 * 32 + lane] = warp_all(v > -2) ? 1 : 0;
  out[7 * 32 + lane] = warp_sum(v);
  out[8 * 32 + lane] = warp_sum<2, 1>(v);
  out[9 * 32 + lane] = warp_sum<16, 4>(v);
  out[10 * 32 + lane] = warp_max(v);
  out[11 * 32 + lane] = (float)warp_sum((i32)(v * 100)) + (float)warp_max((i32)(v * 100));
}
EXPORT_KERNEL(warp_words)

/// Computes the same sum by single shuffles, in the order that warp_sum promises.
KERNEL void __launch_bounds__(32) warp_sum_by_shuffles(float *out, const float *in) {
  pdl_wait();
  float v = in[threadIdx.x];
  for (u32 distance = 16; distance >= 1; distance >>= 1)
    v += shfl_xor(v, distance);
  out[threadIdx.x] = v;
}
EXPORT_KERNEL(warp_sum_by_shuffles)

/// op 0 exp, 1 log, 2 tanh, 3 rsqrt, 4 sigmoid, 5 exp2_fast, 6 tanh_fast, 7 exp_fast.
KERNEL void __launch_bounds__(256) functions(float *out, const float *in, u32 n, u32 op) {
  pdl_wait();
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n)
    return;
  const float v = in[i];
  switch (op) {
  case 0:
    out[i] = exp_f32(v);
    return;
  case 1:
    out[i] = log_f32(v);
    return;
  case 2:
    out[i] = tanh_f32(v);
    return;
  case 3:
    out[i] = rsqrt_f32(v);
    return;
  case 4:
    out[i] = sigmoid_f32(v);
    return;
  case 5:
    out[i] = exp2_fast(v);
    return;
  case 6:
    out[i] = tanh_fast(v);
    return;
  case 7:
    out[i] = exp_fast(v);
    return;
  }
}
EXPORT_KERNEL(functions)

/// All 65536 patterns as bf16, f16 and (the low byte) fp8.
KERNEL void __launch_bounds__(256) widen(float *bf16, float *f16, float *e4m3, float *e5m2) {
  pdl_wait();
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  bf16[i] = bf16_to_f32((u16)i);
  f16[i] = f16_to_f32((u16)i);
  e4m3[i] = e4m3_to_f32((u8)i);
  e5m2[i] = e5m2_to_f32((u8)i);
}
EXPORT_KERNEL(widen)

KERNEL void __launch_bounds__(256)
    narrow(u16 *bf16, u16 *f16, u8 *e4m3, u32 *pairs, const float *in, u32 n) {
  pdl_wait();
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n)
    return;
  bf16[i] = f32_to_bf16(in[i]);
  f16[i] = f32_to_f16(in[i]);
  e4m3[i] = f32_to_e4m3(in[i]);
  pairs[2 * i] = pack_bf16(in[i], -in[i]);
  pairs[2 * i + 1] = pack_f16(-in[i], in[i]);
}
EXPORT_KERNEL(narrow)

/// out [4][n]: sums, differences, products, fused products of pairs.
KERNEL void __launch_bounds__(256)
    pair_arithmetic(u32 *out, const u32 *a, const u32 *b, const u32 *c, u32 n) {
  pdl_wait();
  const u32 i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n)
    return;
  out[i] = bf16x2_add(a[i], b[i]);
  out[n + i] = bf16x2_sub(a[i], b[i]);
  out[2 * n + i] = bf16x2_mul(a[i], b[i]);
  out[3 * n + i] = bf16x2_fma(a[i], b[i], c[i]);
}
EXPORT_KERNEL(pair_arithmetic)

/// out[6]: mask_or, byte_permute, prmt, popcount, dot4, swizzles.
KERNEL void __launch_bounds__(1) bits(u32 *out, u32 a, u32 b) {
  pdl_wait();
  out[0] = mask_or(a, 0x000f000fu, 0x43004300u);
  out[1] = byte_permute(a, b, 0x7531);
  out[2] = prmt(a, b, 0xc810);
  out[3] = popcount(a);
  out[4] = (u32)dot4(a, b, -7);
  out[5] = swizzle128(7 * 128 + 48) | swizzle64(6 * 64 + 16) << 16;
}
EXPORT_KERNEL(bits)

/// counters: sum, max, i32 max, u64 max (two words), cas winner, nothing, u64 sum.
KERNEL void __launch_bounds__(64) atomics(u32 *counters) {
  SHARED(u32, local, [1]);
  const u32 tid = threadIdx.x, value = blockIdx.x * 64 + tid;
  pdl_wait();
  if (tid == 0)
    local[0] = 0;
  sync_block();
  atomic_add(local, 1u);
  sync_block();
  if (tid == 0)
    atomic_add(counters, local[0]);
  atomic_max(counters + 1, value);
  atomic_max((i32 *)counters + 2, 5 - (i32)value);
  atomic_max((u64 *)(counters + 4), (u64)value << 32 | tid);
  atomic_cas(counters + 6, 0u, value + 1);
  atomic_add((u64 *)(counters + 8), (u64)value << 32 | 0x80000000u);
}
EXPORT_KERNEL(atomics)

/// cp.async of 4, 8 and 16 bytes with fewer source bytes: the rest is zero.
KERNEL void __launch_bounds__(32) zero_fill(u8 *out, const u8 *in) {
  SHARED(u8, buffer, [16 * 32]);
  const u32 tid = threadIdx.x;
  pdl_wait();
  u8 *to = buffer + tid * 16;
  cp_async16(to, in + tid * 16, tid % 17);
  cp_async_commit();
  cp_async_wait<0>();
  if (tid < 8) {
    cp_async4(to + 4, in + tid * 16, tid % 5);
    cp_async8(to + 8, in + tid * 16, tid % 9);
    cp_async_commit();
    cp_async_wait<0>();
  }
  sync_block();
  for (u32 i = 0; i < 16; i++)
    out[tid * 16 + i] = buffer[tid * 16 + i];
}
EXPORT_KERNEL(zero_fill)

/// Two roles that meet at named barriers, at one of which a role only arrives.
KERNEL void __launch_bounds__(96) roles(u32 *out) {
  SHARED(u32, box, [64]);
  const u32 tid = threadIdx.x;
  pdl_wait();
  if (tid < 32) {
    box[tid] = tid + 1;
    arrive_named(1, 96); // does not wait
  } else {
    sync_named(1, 96);
    if (tid < 64)
      box[tid] = 100 * tid;
    sync_named(2, 64);
    if (tid < 64)
      out[tid - 32] = box[tid - 32] + box[tid];
  }
}
EXPORT_KERNEL(roles)
