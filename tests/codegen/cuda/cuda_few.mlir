// Few tokens: what a projection does that other kernels do with more.
// RUN: print-cuda-kernels %s | FileCheck %s

// The norm: statistics as its kernel cuts them, rows in shared memory, four tokens a block. Vectors are fetched before pdl_wait.
// CHECK-LABEL: // normed: matmul
// CHECK:       DEVICE TokenRows compute_x(u8 *shared, i32 first, i32 rows, const float *in0, const float *in1, const BatchView *batch) {
// CHECK:           const i32 row = batch->rowTokens[first + t];
// CHECK-NEXT:      for (i32 w = warp; w < 4; w += 4) {
// CHECK:             for (i32 i = 32 * w + lane; i < 100; i += 128) {
// CHECK-NEXT:          const float e0 = in0[(i64)row * 128 + i];
// CHECK:           const float s0 = div_f32(sum_of_warps<4>(sums + (0 + t) * 4), 100.0f);
// CHECK-NEXT:      const float s1 = rsqrt_f32(s0);
// CHECK:             x[i] = f32_to_bf16(
// CHECK:           for (i32 i = 100 + threadIdx.x; i < 128; i += 128)
// CHECK-NEXT:        x[i] = 0;
// CHECK:         return TokenRows{shared, 272};
// CHECK:       KERNEL void __launch_bounds__(128, 1) normed_few(const u16 *x, const u8 *w0, float *y0, const float *in0, const float *in1, const BatchView *batch) {
// CHECK:         prefetch_vector<100>(in1);
// CHECK:         matmul_decode_of<BF16, 100, 4, 1, 4>(weights, [&](i32 rows) { return compute_x(shared + 2560, first, rows, in0, in1, batch); }, 40, tile,
// CHECK:       KERNEL void __launch_bounds__(128, 1) normed_t8(
// CHECK:         matmul_decode<BF16, 100, 4, 1>(weights, (const u8 *)x, 40, tile,
// CHECK:       // normed_few: grid 1 * 3 / 1, rows * 1 / 4; 128 threads, 3712 bytes, at most 4
// CHECK-NEXT:  // normed_t8: grid 1 * 3 / 1, rows * 1 / 8;
kernel.func @normed(%x: !kernel.rows<100, bf16>, %w: !lm.weight<40x100, bf16>, %y: !kernel.rows<40, f32>, %in: !kernel.rows<100, f32>, %inw: !lm.weight<100, f32>) {
  kernel.matmul %x : !kernel.rows<100, bf16> weights(%w : !lm.weight<40x100, bf16>) outs(%y : !kernel.rows<40, f32>) prologue(%in, %inw : !kernel.rows<100, f32>, !lm.weight<100, f32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %a : f32
    %m = kernel.row_stat mean %s : f32
    %i = math.rsqrt %m : f32
    %u = arith.mulf %a, %i : f32
    %v = arith.mulf %u, %b : f32
    kernel.yield %v : f32
  } attributes {aux_counts = array<i64: 0>, extent = 1 : i32, prologue_up_to = 4 : i64, prologue_gather} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// The norm itself is then not launched.
// CHECK-LABEL: // round: rowwise
// CHECK:       // round: grid 1 * 0 / 1, 1 * 1 / 1; 128 threads, 0 bytes, at most 4
// CHECK-NEXT:  // round: grid rows * 1 / 1
kernel.func @round(%x: !kernel.rows<100, f32>, %y: !kernel.rows<100, bf16>) {
  kernel.rowwise ins(%x : !kernel.rows<100, f32>) outs(%y : !kernel.rows<100, bf16>) attributes {extent = 1 : i32, idle_up_to = 4 : i64} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
