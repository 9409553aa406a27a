// Tests the sm_90a variant. Above 64 tokens it replaces prefill, which remains for counts between decode and 64.
// RUN: print-cuda-kernels %s wgmma | FileCheck %s

// Decode goes up to 64 tokens, so there is no prefill. There are two main loops, and the rows of y1 end in zeros.
// CHECK-LABEL: // projections: matmul
// CHECK:       #include "matmul_wgmma.cuh"
// CHECK-NOT:   matmul_prefill<
// CHECK:       KERNEL void __launch_bounds__(384, 1) projections_wgmma(const u16 *x, const u8 *w0, const u8 *w1, float *y0, float *y1, const BatchView *batch, const __grid_constant__ TensorMap x_map) {
// CHECK-NEXT:    pdl_launch();
// CHECK-NEXT:    DYNAMIC_SHARED(shared);
// CHECK-NEXT:    static_assert((INGOT_STAGES ? 139360 : WgmmaShared<128>::bytes) == 139360, "what the launch asks for");
// CHECK-NEXT:    const auto [block, first] = wgmma_place<128>();
// CHECK-NEXT:    const i32 segment = block < 2 ? 0 : 1;
// CHECK-NEXT:    const i32 tile = (block - (segment == 0 ? 0 : 2)) * 8;
// CHECK-NEXT:    pdl_wait();
// CHECK:         pad_rows<20, 32>(y1, first, end);
// CHECK:         if (segment == 0) {
// CHECK:           matmul_wgmma<Int4G128, 256, 4, 128, 1>(weights, &x_map, 144, tile, first, &batch->tokens, shared,
// CHECK-NEXT:          [&](i32 token, i32 row, float (&held)[1]) {
// CHECK-NEXT:      },
// CHECK-NEXT:          [&](i32 token, i32 row, const float (&sum)[1], const float (&held)[1]) {
// CHECK-NEXT:        store_0(y0, token, row, sum);
// CHECK:         } else {
// CHECK:           matmul_wgmma<BF16, 256, 4, 128, 1>(weights, &x_map, 20, tile, first, &batch->tokens, shared,
// CHECK:       // projections_t64: {{.*}}, at most 64
// CHECK-NEXT:  // projections_wgmma: grid 1 * 3 / 1, tokens * 1 / 128; 384 threads, 139360 bytes, clusters of 2, boxes of 64 rows of operand 0{{$}}
kernel.func @projections(%x: !kernel.activation<256, bf16>, %w0: !lm.weight<144x256, int4_g128>, %w1: !lm.weight<20x256, bf16>, %y0: !kernel.activation<144, f32>, %y1: !kernel.activation<20, f32>) {
  kernel.matmul %x : !kernel.activation<256, bf16> weights(%w0, %w1 : !lm.weight<144x256, int4_g128>, !lm.weight<20x256, bf16>) outs(%y0, %y1 : !kernel.activation<144, f32>, !kernel.activation<20, f32>) attributes {aux_counts = array<i64: 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// A pair takes four tiles of each weight per block. Decode ends at 32 tokens.
// CHECK-LABEL: // gate_up: matmul
// CHECK:       gate_up_prefill(
// CHECK:       gate_up_wgmma(
// CHECK:         const u8 *const weights[2] = {w0, w1};
// CHECK-NEXT:    matmul_wgmma<Q4_0, 64, 4, 128, 1>(weights, &x_map, 96, tile, first, &batch->tokens, shared,
// CHECK:             [&](i32 token, i32 row, const float (&sum)[2], const float (&held)[1]) {
// CHECK:       // gate_up_prefill: {{.*}}, at most 64
// CHECK-NEXT:  // gate_up_wgmma: grid 1 * 2 / 1, tokens * 1 / 128; 384 threads, 139360 bytes, clusters of 2, boxes of 64 rows of operand 0{{$}}
kernel.func @gate_up(%x: !kernel.activation<64, bf16>, %w0: !lm.weight<96x64, q4_0>, %w1: !lm.weight<96x64, q4_0>, %y: !kernel.activation<96, bf16>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w0, %w1 : !lm.weight<96x64, q4_0>, !lm.weight<96x64, q4_0>) outs(%y : !kernel.activation<96, bf16>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %m = arith.mulf %g, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// A float weight has tiles of 256 tokens (128 for up to 128 tokens), and no padding. Addends are loaded before the
// results are stored.
// CHECK-LABEL: // down: matmul
// CHECK:       DEVICE void store_0(float *y, i32 token, i32 row, const float (&sum)[1], float aux0) {
// CHECK-NEXT:    const float v0 = sum[0] + aux0;
// CHECK:       KERNEL void __launch_bounds__(384, 1) down_wgmma(
// CHECK-NEXT:    pdl_launch();
// CHECK-NEXT:    DYNAMIC_SHARED(shared);
// CHECK-NEXT:    static_assert((INGOT_STAGES ? 229448 : WgmmaShared<256>::bytes) == 229448, "what the launch asks for");
// CHECK-NEXT:    const auto [block, first] = wgmma_place<256>();
// CHECK-NEXT:    const i32 tile = (block - 0) * 8;
// CHECK-NEXT:    const u8 *const weights[1] = {w0};
// CHECK-NEXT:    matmul_wgmma<BF16, 64, 4, 256, 1>(weights, &x_map, 64, tile, first, &batch->tokens, shared,
// CHECK-NEXT:        [&](i32 token, i32 row, float (&held)[1]) {
// CHECK-NEXT:      held[0] = rows0[(i64)token * 64 + row];
// CHECK-NEXT:    },
// CHECK-NEXT:        [&](i32 token, i32 row, const float (&sum)[1], const float (&held)[1]) {
// CHECK-NEXT:      store_0(rows0, token, row, sum, held[0]);
// CHECK-NEXT:    });
// CHECK-NEXT:  }
// CHECK:       // down_wgmma128: grid 1 * 1 / 1, tokens * 1 / 128; 384 threads, 139360 bytes, clusters of 2, boxes of 64 rows of operand 0, at most 128{{$}}
// CHECK-NEXT:  // down_wgmma: grid 1 * 1 / 1, tokens * 1 / 256; 384 threads, 229448 bytes, clusters of 2, boxes of 128 rows of operand 0{{$}}
kernel.func @down(%x: !kernel.activation<64, bf16>, %w0: !lm.weight<64x64, bf16>, %y: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w0 : !lm.weight<64x64, bf16>) aux(%y : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %r: f32):
    %s = arith.addf %acc, %r : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// fp8 weights with fp8 rows have the same block shape, fp8 products, and one more argument, which decode and prefill
// ignore.
// CHECK-LABEL: // eighth: matmul
// CHECK:       #include "matmul_wgmma_fp8.cuh"
// CHECK:         matmul_decode<Fp8Format, 256, 4, 1, 1>(weights, (const u8 *)x, 144, tile, first, &batch->tokens, shared,
// CHECK:       KERNEL void __launch_bounds__(384, 1) eighth_wgmma_fp8(const u16 *x, const u8 *w0, float *y0, const u8 *xFp8, const BatchView *batch) {
// CHECK:         matmul_wgmma_fp8<256, 1>(weights, xFp8, 144, tile, first, &batch->tokens, shared,
// CHECK:       // eighth_t64: {{.*}}, at most 64
// CHECK-NEXT:  // eighth_wgmma_fp8: grid 1 * 2 / 1, tokens * 1 / 128; 384 threads, 67648 bytes{{$}}
kernel.func @eighth(%x: !kernel.activation<256, bf16>, %w: !lm.weight<144x256, fp8>, %y: !kernel.activation<144, f32>, %e: !kernel.activation<256, fp8>) {
  kernel.matmul %x : !kernel.activation<256, bf16> weights(%w : !lm.weight<144x256, fp8>) outs(%y : !kernel.activation<144, f32>) fp8(%e : !kernel.activation<256, fp8>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// This kernel makes those rows.
// CHECK-LABEL: // rows: fp8_rows
// CHECK:         fp8_rows<256>((const u8 *)x, y, batch->tokens);
// CHECK:       // rows: grid tokens * 1 / 1, 1 * 1 / 1; 128 threads, 0 bytes{{$}}
kernel.func @rows(%x: !kernel.activation<256, bf16>, %e: !kernel.activation<256, fp8>) {
  kernel.fp8_rows %x : !kernel.activation<256, bf16> outs(%e : !kernel.activation<256, fp8>) {extent = #kernel.extent<tokens>}
  kernel.return
}

// With experts, clusters take tiles of one expert's rows, copy boxes of its rows of x, and find its matrix themselves.
// Padding comes first.
// CHECK-LABEL: // expert_gate_up: matmul
// CHECK:       #include "matmul_experts_wgmma.cuh"
// CHECK:       each_row_tile<8, 64>
// CHECK:       KERNEL void __launch_bounds__(384, 1) expert_gate_up_wgmma({{.*}}, u16 *y0, const i32 *routes, const BatchView *batch, const __grid_constant__ TensorMap x_map) {
// CHECK:         const auto [block, first] = wgmma_place<128>();
// CHECK-NEXT:    const RowTiles<8, 128> tiles{routes, batch, first / 128};
// CHECK-NEXT:    const i32 tile = block * 4;
// CHECK-NEXT:    pdl_wait();
// CHECK-NEXT:    if (block == 1)
// CHECK-NEXT:      pad_row_tiles<72, 128>(y0, tiles);
// CHECK-NEXT:    const u8 *const weights[2] = {w0, w1};
// CHECK-NEXT:    matmul_experts_wgmma<Q4_0, 100, 4, 1>(weights, 5760, &x_map, 72, tile, tiles, shared,
// CHECK-NEXT:        [&](i32 expert, i32 token, i32 row, float (&held)[1]) {
// CHECK-NEXT:      held[0] = vector0[expert * 96 + row];
// CHECK:       // expert_gate_up_prefill: grid 1 * 2 / 1, tokens * 8 / 32; 256 threads, 49152 bytes, at most 512
// CHECK-NEXT:  // expert_gate_up_wgmma: grid 1 * 2 / 1, tokens * 8 / 64; 384 threads, 139360 bytes, clusters of 2, boxes of 64 rows of operand 0, 8 a token{{$}}
kernel.func @expert_gate_up(%x: !kernel.activation<100, bf16>, %w0: !lm.weight<64x72x100, q4_0>, %w1: !lm.weight<64x72x100, q4_0>, %b0: !lm.weight<64x72x1, f32>, %y: !kernel.activation<72, bf16>, %r: !kernel.routes<64, 8>) {
  kernel.matmul %x : !kernel.activation<100, bf16> weights(%w0, %w1 : !lm.weight<64x72x100, q4_0>, !lm.weight<64x72x100, q4_0>) aux(%b0 : !lm.weight<64x72x1, f32>) outs(%y : !kernel.activation<72, bf16>) of %r : !kernel.routes<64, 8> attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32, %b: f32):
    %a = arith.addf %g, %b : f32
    %m = arith.mulf %a, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// With a float weight, tiles have 256 rows if experts have more than 128 rows on average. With 2 of 5 experts per
// token, that takes three times as many tokens (5 / 2, rounded up).
// CHECK-LABEL: // expert_down: matmul
// CHECK:         matmul_experts_wgmma<BF16, 64, 4, 1>(weights, 20480, &x_map, 160, tile, tiles, shared,
// CHECK:         const auto [block, first] = wgmma_place<256>();
// CHECK:       // expert_down_prefill: grid 1 * 2 / 1, tokens * 2 / 32; 256 threads, 49152 bytes, at most 192
// CHECK-NEXT:  // expert_down_wgmma128: grid 1 * 2 / 1, tokens * 2 / 64; 384 threads, 139360 bytes, clusters of 2, boxes of 64 rows of operand 0, 2 a token, at most 384
// CHECK-NEXT:  // expert_down_wgmma: grid 1 * 2 / 1, tokens * 2 / 128; 384 threads, 229448 bytes, clusters of 2, boxes of 128 rows of operand 0, 2 a token{{$}}
kernel.func @expert_down(%x: !kernel.activation<64, bf16>, %w: !lm.weight<5x160x64, bf16>, %y: !kernel.activation<160, f32>, %r: !kernel.routes<5, 2>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<5x160x64, bf16>) outs(%y : !kernel.activation<160, f32>) of %r : !kernel.routes<5, 2> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// The fp8 rows are an operand instead of a tensor map: each block copies its own rows.
// CHECK-LABEL: // expert_eighth: matmul
// CHECK:       #include "matmul_experts_fp8.cuh"
// CHECK:       KERNEL void __launch_bounds__(384, 1) expert_eighth_wgmma_fp8(const u16 *x, const u8 *w0, float *y0, const u8 *xFp8, const i32 *routes, const BatchView *batch) {
// CHECK:         const RowTiles<2, 128> tiles{routes, batch, (i32)blockIdx.y};
// CHECK:         matmul_experts_fp8<256, 1>(weights, 38016, xFp8, 144, tile, tiles, shared,
// CHECK:       // expert_eighth_prefill: {{.*}}, at most 192
// CHECK-NEXT:  // expert_eighth_wgmma_fp8: grid 1 * 2 / 1, tokens * 2 / 64; 384 threads, 67648 bytes{{$}}
kernel.func @expert_eighth(%x: !kernel.activation<256, bf16>, %w: !lm.weight<5x144x256, fp8>, %y: !kernel.activation<144, f32>, %e: !kernel.activation<256, fp8>, %r: !kernel.routes<5, 2>) {
  kernel.matmul %x : !kernel.activation<256, bf16> weights(%w : !lm.weight<5x144x256, fp8>) outs(%y : !kernel.activation<144, f32>) fp8(%e : !kernel.activation<256, fp8>) of %r : !kernel.routes<5, 2> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// CHECK-LABEL: // expert_rows: fp8_rows
// CHECK:         fp8_rows<256>((const u8 *)x, y, batch->tokens * 2);
// CHECK:       // expert_rows: grid tokens * 2 / 1, 1 * 1 / 1; 128 threads, 0 bytes{{$}}
kernel.func @expert_rows(%x: !kernel.activation<256, bf16>, %e: !kernel.activation<256, fp8>) {
  kernel.fp8_rows %x : !kernel.activation<256, bf16> outs(%e : !kernel.activation<256, fp8>) {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64}
  kernel.return
}
