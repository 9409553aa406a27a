// Tests the work that a projection does itself in steps of few tokens, and that other kernels do for more tokens.
// RUN: print-cuda-kernels %s | FileCheck %s

// The projection computes the norm. Statistics are split as in the norm's own kernel, rows are in shared memory, and
// there are four tokens per block. Vectors are fetched before pdl_wait.
// CHECK-LABEL: // normed: matmul
// CHECK:       DEVICE SharedRows compute_x(u8 *shared, i32 first, i32 rows, const float *in0, const float *in1, const BatchView *batch) {
// CHECK:           const i32 row = batch->rowTokens[first + t];
// CHECK-NEXT:      for (i32 w = warp; w < 4; w += 4) {
// CHECK:             for (i32 i = 32 * w + lane; i < 100; i += 128) {
// CHECK-NEXT:          const float e0 = in0[(i64)row * 128 + i];
// CHECK:           const float s0 = div_f32(sum_of_warps<4>(sums + (0 + t) * 4), 100.0f);
// CHECK-NEXT:      const float s1 = rsqrt_f32(s0);
// CHECK:             x[i] = f32_to_bf16(
// CHECK:           for (i32 i = 100 + threadIdx.x; i < 128; i += 128)
// CHECK-NEXT:        x[i] = 0;
// CHECK:         return SharedRows{shared, 272};
// CHECK:       KERNEL void __launch_bounds__(128, LEAST_BLOCKS(1)) normed_few(const u8 *w0, float *y0, const float *in0, const float *in1, const BatchView *batch) {
// CHECK:         prefetch_vector<100>(in1);
// CHECK:         matmul_decode_of<BF16, 100, 4, 1, 4, 1>(weights, [&](i32 rows) { return compute_x(shared + 2560, first, rows, in0, in1, batch); }, 40, tile,
// CHECK-NOT:   KERNEL void
// CHECK:       // normed_few: grid 1 * 3 / 1, rows * 1 / 4; 128 threads, 3712 bytes{{$}}
kernel.func @normed(%w: !lm.weight<40x100, bf16>, %y: !kernel.activation<40, f32>, %in: !kernel.activation<100, f32>, %inw: !lm.weight<100, f32>) attributes {counts = #kernel.counts<1 to 4>} {
  %x = kernel.rowwise ins(%in, %inw : !kernel.activation<100, f32>, !lm.weight<100, f32>) -> !kernel.fused<100, bf16> attributes {extent = #kernel.extent<rows>, gather} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %a : f32
    %m = kernel.row_stat mean %s : f32
    %i = math.rsqrt %m : f32
    %u = arith.mulf %a, %i : f32
    %v = arith.mulf %u, %b : f32
    kernel.yield %v : f32
  }
  kernel.matmul %x : !kernel.fused<100, bf16> weights(%w : !lm.weight<40x100, bf16>) outs(%y : !kernel.activation<40, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// q and k are rotated, and k and v are appended to the pool. Each block of q and k owns two tiles half a head apart, so
// one thread has both partners. Rows of k and v are not operands.
// CHECK-LABEL: // qkv: matmul
// CHECK:       struct Heads {
// CHECK-NEXT:    static constexpr i32 kvHeads = 1, headDim = 64, rotary = 64;
// CHECK:       DEVICE float value_0(i32 token, i32 row, const float (&sum)[1], float aux0) {
// CHECK:       KERNEL void __launch_bounds__(128, LEAST_BLOCKS(1)) qkv_t8(
// CHECK:         const i32 segment = block < 4 ? 0 : block < 6 ? 1 : 2;
// CHECK-NEXT:    const i32 tile = segment < 2 ? half_split_tile(block - ({{.*}}), 64) : block - (
// CHECK:           const u8 *const lower = segment == 0 ? w0 : w1;
// CHECK-NEXT:      const u8 *const weights[2] = {lower, lower + 2 * Q4_0::tileBytes(64)};
// CHECK-NEXT:      matmul_decode_of<Q4_0, 64, 4, 1, 8, 1, 1>(weights, [&](i32 rows) { return rows_of<64>((const u8 *)x, first); },
// CHECK:               float a = value_0(token, row, low, vector0[row]), b = value_0(token, row + 32, high, vector0[row + 32]);
// CHECK-NEXT:          rotate_pair<Heads>(table, token, row % 64, a, b);
// CHECK-NEXT:          float *to = y0 + (i64)token * 128 + row;
// CHECK-NEXT:          to[0] = a;
// CHECK-NEXT:          to[32] = b;
// CHECK:               u16 *to = append_place<Heads>(pool, batch, token, row);
// CHECK-NEXT:          to[0] = f32_to_bf16(a);
// CHECK:           matmul_decode_of<Q6_K, 64, 4, 1, 8, 1, 1>(
// CHECK:             u16 *to = append_place<Heads>(pool, batch, token, row) + Heads::pageElements;
// CHECK-NOT:   KERNEL void
// CHECK:       // qkv_t8: grid 1 * 10 / 1, tokens * 1 / 8; 128 threads, 5120 bytes{{$}}
kernel.func @qkv(%x: !kernel.activation<64, bf16>, %w0: !lm.weight<128x64, q4_0>, %w1: !lm.weight<64x64, q4_0>, %w2: !lm.weight<64x64, q6_k>, %b: !lm.weight<128, f32>, %y0: !kernel.activation<128, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %t: !kernel.activation<64, f32>) attributes {counts = #kernel.counts<2 to 8>} {
  %q, %k, %v = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w0, %w1, %w2 : !lm.weight<128x64, q4_0>, !lm.weight<64x64, q4_0>, !lm.weight<64x64, q6_k>) aux(%b : !lm.weight<128, f32>) -> !kernel.fused<128, f32>, !kernel.fused<64, f32>, !kernel.fused<64, f32> attributes {aux_counts = array<i64: 1, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %bias: f32):
    %s = arith.addf %acc, %bias : f32
    kernel.yield %s : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  %r = kernel.rope_append %q, %k, %v table %t : !kernel.activation<64, f32> into %kv {heads = 2 : i64, style = #lm.rope_style<half>} : !kernel.fused<128, f32>, !kernel.fused<64, f32>, !kernel.fused<64, f32>, !kernel.kv_pool<1, 64, bf16> -> !kernel.fused<128, f32>
  kernel.store %r : !kernel.fused<128, f32> into %y0 : !kernel.activation<128, f32>
  kernel.return
}

// Interleaved pairs are neighbours in a tile, so a thread finishes two rows. Values beyond the rotated
// part are unchanged.
// CHECK-LABEL: // neighbours: matmul
// CHECK:         const i32 tile = block - (
// CHECK:           matmul_decode_of<BF16, 64, 4, 1, 8, 1, 2>(
// CHECK:             if (row % 40 < 24)
// CHECK-NEXT:          rotate_pair<Heads>(table, token, row % 40 / 2, a, b);
kernel.func @neighbours(%x: !kernel.activation<64, bf16>, %w: !lm.weight<40x64, bf16>, %y0: !kernel.activation<40, f32>, %kv: !kernel.kv_pool<1, 40, bf16>, %t: !kernel.activation<24, f32>) attributes {counts = #kernel.counts<1 to 8>} {
  %q, %k, %v = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<40x64, bf16>, !lm.weight<40x64, bf16>, !lm.weight<40x64, bf16>) -> !kernel.fused<40, f32>, !kernel.fused<40, f32>, !kernel.fused<40, f32> attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  %r = kernel.rope_append %q, %k, %v table %t : !kernel.activation<24, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<interleaved>} : !kernel.fused<40, f32>, !kernel.fused<40, f32>, !kernel.fused<40, f32>, !kernel.kv_pool<1, 40, bf16> -> !kernel.fused<40, f32>
  kernel.store %r : !kernel.fused<40, f32> into %y0 : !kernel.activation<40, f32>
  kernel.return
}

// CHECK-LABEL: // head: matmul
// CHECK:       DEVICE float store_0(float *y, i32 token, i32 row, const float (&sum)[1]) {
// CHECK-NEXT:    y[(i64)token * 64 + row] = sum[0];
// CHECK-NEXT:    return sum[0];
// CHECK:       head_t32(const u16 *x, const u8 *w0, float *y0, u64 *keys, const BatchView *batch) {
// CHECK:           return store_0(y0, token, row, sum);
// CHECK-NEXT:    }, FoldKeys{keys});
// CHECK-NOT:   KERNEL void
kernel.func @head(%x: !kernel.activation<64, bf16>, %w: !lm.weight<40x64, bf16>, %y: !kernel.activation<40, f32>, %keys: !kernel.activation<1, key>) attributes {counts = #kernel.counts<1 to 32>} {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<40x64, bf16>) -> !kernel.fused<40, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.store %f : !kernel.fused<40, f32> into %y : !kernel.activation<40, f32>
  kernel.argmax %f : !kernel.fused<40, f32> keys %keys : !kernel.activation<1, key>
  kernel.return
}
