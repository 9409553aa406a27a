// Kernels that each break one rule of rules.py, and one that breaks none: sass_test.py --self-test
// compiles them and expects that rule N finds rN_…, with the named figure, and that no rule finds
// `sound`.
#include "batch.cuh"
#include "wgmma.cuh"

USE_WGMMA(64)

/// A loop that multiplies; the code around and after it is under test. `inside` runs in it.
template <class Inside> DEVICE void multiply(float (&sum)[4], const u32 *x, i32 count, Inside inside) {
  NO_UNROLL
  for (i32 i = 0; i < count; i++) {
    u32 a[1][4], b[1][2];
    UNROLL
    for (i32 j = 0; j < 4; j++)
      a[0][j] = x[i * 192 + j * 32 + threadIdx.x];
    b[0][0] = x[i * 192 + 128 + threadIdx.x], b[0][1] = x[i * 192 + 160 + threadIdx.x];
    float(&tile)[1][1][4] = reinterpret_cast<float(&)[1][1][4]>(sum);
    mma_tile(tile, a, b);
    inside(i);
  }
}

KERNEL void __launch_bounds__(32) sound(const u32 *x, float4 *y, i32 count) {
  float sum[4] = {};
  multiply(sum, x, count, [](i32) {});
  float4 before = y[threadIdx.x];
  y[threadIdx.x] = {before.x + sum[0], before.y + sum[1], before.z + sum[2], before.w + sum[3]};
}

// The arrival releases to the cluster.
KERNEL void __launch_bounds__(32) r1_release_in_the_loop(const u32 *x, float4 *y, i32 count) {
  SHARED(u64, bar, [1]);
  float sum[4] = {};
  multiply(sum, x, count, [&](i32) {
    asm volatile("{.reg .b32 peer; mapa.shared::cluster.u32 peer, %0, %1; "
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer];}" ::"r"(shared_address(bar)),
                 "r"(1)
                 : "memory");
  });
  y[threadIdx.x] = {sum[0], sum[1], sum[2], sum[3]};
}

// The loop that loads x waits with an acquire at cluster scope, which invalidates L1.
KERNEL void __launch_bounds__(32) r1_acquire_where_x_is_brought(const u8 *x, float *y, i32 count) {
  SHARED_ALIGNED(128, u8, stage, [512]);
  SHARED(u64, bar, [1]);
  NO_UNROLL
  for (i32 i = 0; i < count; i++) {
    u32 done = 0;
    while (!done)
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
                   "selp.u32 %0, 1, 0, p;}"
                   : "=r"(done)
                   : "r"(shared_address(bar)), "r"(i & 1)
                   : "memory");
    cp_async16(stage + threadIdx.x * 16, x + i * 512 + threadIdx.x * 16);
    cp_async_commit();
  }
  cp_async_wait<0>();
  sync_block();
  y[threadIdx.x] = (float)stage[threadIdx.x];
}

// Each result loads its residual only after the previous result is stored.
KERNEL void __launch_bounds__(32) r2_in_turns(const u32 *x, float *y, i32 count, i32 rows) {
  float sum[4] = {};
  multiply(sum, x, count, [](i32) {});
  UNROLL
  for (i32 i = 0; i < 4; i++)
    if ((i32)threadIdx.x + 40 * i < rows)
      y[threadIdx.x + 40 * i] = y[threadIdx.x + 40 * i] + sum[i];
}

// r2_in_turns as a loop.
KERNEL void __launch_bounds__(32) r2_in_a_loop(const u32 *x, float *y, i32 count, i32 rows) {
  float sum[4] = {};
  multiply(sum, x, count, [](i32) {});
  NO_UNROLL
  for (i32 i = threadIdx.x; i < rows; i += 32)
    y[i] = y[i] + sum[0];
}

// The code waits after each wgmma.
KERNEL void __launch_bounds__(128) r3_a_wait_for_each(const u32 *x, float *y, i32 count) {
  SHARED_ALIGNED(1024, u8, stage, [8192]);
  float sum[32] = {};
  NO_UNROLL
  for (i32 i = 0; i < count; i++) {
    UNROLL
    for (i32 step = 0; step < 4; step++) {
      const u32 a[4] = {x[i * 4 + step], x[i * 4 + step + 1], x[i * 4 + step + 2], x[i * 4 + step + 3]};
      wgmma_fence();
      wgmma_rs<64>(sum, a, wgmma_descriptor(stage + step * 32));
      wgmma_commit();
      wgmma_wait<0>();
      keep(sum);
    }
  }
  UNROLL
  for (i32 i = 0; i < 32; i++)
    y[i * 128 + threadIdx.x] = sum[i];
}

// Sums are used while their wgmma is in flight: ptxas reports that it serialises.
KERNEL void __launch_bounds__(128) r3_serialised(const u32 *x, float *y, i32 count) {
  SHARED_ALIGNED(1024, u8, stage, [8192]);
  float sum[32] = {};
  NO_UNROLL
  for (i32 i = 0; i < count; i++) {
    UNROLL
    for (i32 step = 0; step < 4; step++) {
      const u32 a[4] = {x[i * 4 + step], x[i * 4 + step + 1], x[i * 4 + step + 2], x[i * 4 + step + 3]};
      wgmma_fence();
      wgmma_rs<64>(sum, a, wgmma_descriptor(stage + step * 32));
      wgmma_commit();
      sum[step] += 1.0f;
    }
    wgmma_wait<0>();
    keep(sum);
  }
  UNROLL
  for (i32 i = 0; i < 32; i++)
    y[i * 128 + threadIdx.x] = sum[i];
}

// The kernel has more values than registers.
KERNEL void __launch_bounds__(1024, 2) r4_spills(const float *x, float *y, i32 count) {
  float values[64];
  UNROLL
  for (i32 i = 0; i < 64; i++)
    values[i] = x[i * 1024 + threadIdx.x];
  NO_UNROLL
  for (i32 round = 0; round < count; round++) {
    UNROLL
    for (i32 i = 0; i < 64; i++)
      values[i] = values[i] * values[(i + 7) % 64] + 1.0f;
  }
  UNROLL
  for (i32 i = 0; i < 64; i++)
    y[i * 1024 + threadIdx.x] = values[i];
}

// Neighbours of a row are written by stores of two bytes.
KERNEL void __launch_bounds__(32) r5_stores_of_two_bytes(const float *x, u16 *y) {
  UNROLL
  for (i32 i = 0; i < 16; i++)
    y[threadIdx.x * 16 + i] = f32_to_bf16(x[i * 32 + threadIdx.x]);
}
