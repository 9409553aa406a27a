// Tests kernels as CUDA C++: constants, an epilogue, a wrapper for each variant, and the launch.
// RUN: print-cuda-kernels %s | FileCheck %s --implicit-check-not=wgmma

// Rows of q and k are q4_0 and rows of v are q6_k, so one launch has two main loops. The residual's aux operand may be
// the output itself.
// CHECK-LABEL: // projections: matmul
// CHECK-NEXT:  #include "matmul_decode.cuh"
// CHECK:       DEVICE void store_0(float *y, i32 token, i32 row, const float (&sum)[1]) {
// CHECK-NEXT:    y[(i64)token * 64 + row] = sum[0];
// CHECK:       KERNEL void __launch_bounds__(128, LEAST_BLOCKS(1)) projections_t8(const u16 *x, const u8 *w0, const u8 *w1, const u8 *w2, float *y0, float *y1, float *y2, const BatchView *batch) {
// CHECK-NEXT:    pdl_launch();
// CHECK:         const i32 segment = block < 4 ? 0 : block < 6 ? 1 : 2;
// CHECK:         if (segment == 0 || segment == 1) {
// CHECK-NEXT:      const u8 *const weights[1] = {segment == 0 ? w0 : w1};
// CHECK-NEXT:      matmul_decode<Q4_0, 256, 4, 1, 1>(weights, (const u8 *)x, segment == 0 ? 64 : 20, tile, first, &batch->tokens, shared,
// CHECK:         } else {
// CHECK:           matmul_decode<Q6_K, 256, 4, 1, 1>
// CHECK:         pad_rows<20, 32>(y1, first, end);
// CHECK:       EXPORT_KERNEL(projections_t8)
// CHECK:       // projections_t8: grid 1 * 7 / 1, tokens * 1 / 8; 128 threads, 2560 bytes, at most 8
// CHECK:       // projections_prefill: grid 1 * 3 / 1, tokens * 1 / 64; 256 threads
kernel.func @projections(%x: !kernel.activation<256, bf16>, %w0: !lm.weight<64x256, q4_0>, %w1: !lm.weight<20x256, q4_0>, %w2: !lm.weight<16x256, q6_k>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<20, f32>, %y2: !kernel.activation<16, f32>) {
  kernel.matmul %x : !kernel.activation<256, bf16> weights(%w0, %w1, %w2 : !lm.weight<64x256, q4_0>, !lm.weight<20x256, q4_0>, !lm.weight<16x256, q6_k>) outs(%y0, %y1, %y2 : !kernel.activation<64, f32>, !kernel.activation<20, f32>, !kernel.activation<16, f32>) attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// CHECK-LABEL: // gate_up: matmul
// CHECK:       DEVICE void store_0(u16 *y, i32 token, i32 row, const float (&sum)[2], float aux0) {
// CHECK-NEXT:    const float v0 = -sum[0];
// CHECK-NEXT:    const float v1 = exp_f32(v0);
// CHECK-NEXT:    const float v2 = v1 + 1.0f;
// CHECK-NEXT:    const float v3 = div_f32(sum[0], v2);
// CHECK-NEXT:    const float v4 = v3 * sum[1];
// CHECK-NEXT:    const float v5 = v4 + aux0;
// CHECK-NEXT:    y[(i64)token * 64 + row] = f32_to_bf16(v5);
// CHECK:         const u8 *const weights[2] = {w0, w1};
kernel.func @gate_up(%x: !kernel.activation<64, bf16>, %w0: !lm.weight<64x64, bf16>, %w1: !lm.weight<64x64, bf16>, %b: !lm.weight<64, f32>, %y: !kernel.activation<64, bf16>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w0, %w1 : !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>) aux(%b : !lm.weight<64, f32>) outs(%y : !kernel.activation<64, bf16>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32, %bias: f32):
    %n = arith.negf %g : f32
    %e = math.exp %n : f32
    %one = arith.constant 1.0 : f32
    %d = arith.addf %e, %one : f32
    %a = arith.divf %g, %d : f32
    %m = arith.mulf %a, %u : f32
    %s = arith.addf %m, %bias : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// The statistic is a separate pass; values that depend only on it are computed once.
// CHECK-LABEL: KERNEL void __launch_bounds__(128) norm(const float *x0, const float *w1, u16 *y0, const BatchView *batch) {
// CHECK:         const i32 source = batch->rowTokens[row];
// CHECK:         for (i32 i = threadIdx.x; i < 100; i += 128) {
// CHECK-NEXT:      const float e0 = x0[(i64)source * 128 + i];
// CHECK:         const float s0 = div_f32(block_sum<4>(sum0, partial0), 100.0f);
// CHECK-NEXT:    const float s1 = rsqrt_f32(s0);
// CHECK-NEXT:    for
// CHECK:           y0[(i64)row * 128 + i] = f32_to_bf16(
// CHECK:         pad_rows<100, 128>(y0, row, row + 1);
// CHECK:       // norm: grid rows * 1 / 1
kernel.func @norm(%x: !kernel.activation<100, f32>, %w: !lm.weight<100, f32>, %y: !kernel.activation<100, bf16>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<100, f32>, !lm.weight<100, f32>) outs(%y : !kernel.activation<100, bf16>) attributes {extent = #kernel.extent<rows>, gather} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %a : f32
    %m = kernel.row_stat mean %s : f32
    %i = math.rsqrt %m : f32
    %u = arith.mulf %a, %i : f32
    %v = arith.mulf %u, %b : f32
    kernel.yield %v : f32
  }
  kernel.return
}

// CHECK-LABEL: // attend: attention
// CHECK:         static constexpr i32 headDim = 64, heads = 9, kvHeads = 3, window = 512, qStride = 576, yStride = 576;
// CHECK:         static constexpr bool fp8 = false, shares = false, packs = true, sinks = false;
// CHECK:         static constexpr float scale = 0.125f, softcap = 50.0f;
// CHECK:       attend_decode(const float *q, const u8 *pool, u16 *y, const BatchView *batch)
// CHECK:       // attend_prefill: grid prompt tiles * 3 / 1, 1 * 1 / 1; 128 threads, 16384 bytes{{$}}
// CHECK:       // attend_decode: grid shares * 3 / 1, 1 * 1 / 1; 128 threads, {{[0-9]+}} bytes{{$}}
kernel.func @attend(%q: !kernel.activation<576, f32>, %kv: !kernel.kv_pool<3, 64, bf16>, %y: !kernel.activation<576, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<576, f32>, !kernel.kv_pool<3, 64, bf16> outs(%y : !kernel.activation<576, bf16>) {heads = 9 : i64, scale = 0.125 : f32, window = 512 : i64, softcap = 50.0 : f32}
  kernel.return
}

// Without a window, blocks share the positions, and their partial results pass through the workspace.
// CHECK-LABEL: // attend_all: attention
// CHECK:         static constexpr bool fp8 = true, shares = true, packs = true, sinks = false;
// CHECK:       attend_all_decode(const float *q, const u8 *pool, u16 *y, u8 *workspace, const BatchView *batch)
// CHECK:       // attend_all_prefill: grid prompt tiles * 8 / 1, 1 * 1 / 1; 128 threads, 49152 bytes{{$}}
// CHECK:       // attend_all_decode: grid shares * 8 / 1, 1 * 1 / 1; 128 threads, {{[0-9]+}} bytes{{$}}
kernel.func @attend_all(%q: !kernel.activation<4096, f32>, %kv: !kernel.kv_pool<8, 128, fp8>, %y: !kernel.activation<4096, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<4096, f32>, !kernel.kv_pool<8, 128, fp8> outs(%y : !kernel.activation<4096, bf16>) {heads = 32 : i64, scale = 0.125 : f32}
  kernel.return
}
