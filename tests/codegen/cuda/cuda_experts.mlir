// Tests experts as CUDA C++: routers, grouping of routes, dispatch of rows, projections over stacks, and the sum.
// RUN: print-cuda-kernels %s | FileCheck %s

// Neither x nor the router's weights are rounded. Sums are f32. Blocks take 8 rows each, and 32 for prompts. A
// projection that all tokens use is computed in the same launch.
// CHECK-LABEL: // router: matmul
// CHECK-NEXT:  #include "matmul_f32.cuh"
// CHECK:       KERNEL void __launch_bounds__(256, LEAST_BLOCKS(2)) router_t8(const float *x, const u8 *w0, const u8 *w1, float *y0, float *y1, const BatchView *batch) {
// CHECK:         static_assert(matmul_f32_few_shared() == 9216,
// CHECK-NEXT:    const i32 block = blockIdx.x, first = blockIdx.y * 8;
// CHECK-NEXT:    const i32 segment = block < 8 ? 0 : 1;
// CHECK-NEXT:    const i32 tile = block - (segment == 0 ? 0 : 8);
// CHECK:           matmul_f32_few<PanelF32, 100, 1>(weights, x, 64, tile, first, &batch->tokens, shared,
// CHECK:           matmul_f32_few<PanelBF16, 100, 1>(weights, x, 1, tile, first, &batch->tokens, shared,
// CHECK:         if (first < batch->tokens && block == 8) {
// CHECK:       KERNEL void __launch_bounds__(256, LEAST_BLOCKS(2)) router_many(
// CHECK:           matmul_f32_many<PanelF32, 100, 1>(weights, x, 64,
// CHECK:       // router_t8: grid 1 * 9 / 1, tokens * 1 / 8; 256 threads, 9216 bytes, at most 128
// CHECK-NEXT:  // router_many: grid 1 * 3 / 1, tokens * 1 / 16; 256 threads, 16384 bytes
kernel.func @router(%x: !kernel.activation<100, f32>, %w0: !lm.weight<64x100, f32, panel32>, %w1: !lm.weight<1x100, bf16, panel32>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<1, f32>) {
  kernel.matmul %x : !kernel.activation<100, f32> weights(%w0, %w1 : !lm.weight<64x100, f32, panel32>, !lm.weight<1x100, bf16, panel32>) outs(%y0, %y1 : !kernel.activation<64, f32>, !kernel.activation<1, f32>) attributes {aux_counts = array<i64: 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// CHECK-LABEL: // route: route
// CHECK-NEXT:  #include "experts.cuh"
// CHECK:       struct Router {
// CHECK-NEXT:    static constexpr i32 experts = 64, used = 8, groups = 8, usedGroups = 4;
// CHECK-NEXT:    static constexpr RouteScore score = RouteScore::sigmoid;
// CHECK-NEXT:    static constexpr RouteNorm normalize = RouteNorm::sum;
// CHECK-NEXT:    static constexpr bool groupsByMax = false, hasBias = true, hasScales = false;
// CHECK-NEXT:    static constexpr float normEps = 9.99999968e-21f, normFloor = 0.0f, scale = 2.5f;
// CHECK:       KERNEL void __launch_bounds__(128) route(const float *logits, const float *bias, i32 *routes, const BatchView *batch) {
// CHECK-NEXT:    pdl_launch();
// CHECK-NEXT:    SHARED(RouteScratch<Router>, scratch, [kRouteWarps]);
// CHECK-NEXT:    route_tokens<Router>(logits, bias, nullptr, routes, batch, scratch);
// CHECK:       // route: grid tokens * 1 / 4, 1 * 1 / 1; 128 threads
kernel.func @route(%l: !kernel.activation<64, f32>, %b: !lm.weight<64, f32>, %r: !kernel.routes<64, 8>) {
  kernel.route %l : !kernel.activation<64, f32> select %b : !lm.weight<64, f32> outs(%r : !kernel.routes<64, 8>) {score = #lm.score<sigmoid>, normalize = #lm.normalize<sum>, groups = 8 : i64, used_groups = 4 : i64, group_score = #lm.group_score<top2sum>, norm_eps = 1.000000e-20 : f32, norm_floor = 0.000000e+00 : f32, scale = 2.500000e+00 : f32}
  kernel.return
}

// The grid is one block, whatever the step.
// CHECK-LABEL: // group: group_routes
// CHECK:       KERNEL void __launch_bounds__(1024) group(i32 *routes, const BatchView *batch) {
// CHECK-NEXT:    pdl_launch();
// CHECK-NEXT:    SHARED(i32, counts, [32][64]);
// CHECK-NEXT:    SHARED(i32, firsts, [64]);
// CHECK-NEXT:    group_pairs<64, 8>(routes, batch, counts, firsts);
// CHECK:       // group: grid 1 * 1 / 1, 1 * 1 / 1; 1024 threads
kernel.func @group(%r: !kernel.routes<64, 8>) {
  kernel.group_routes %r : !kernel.routes<64, 8>
  kernel.return
}

// Each token has eight rows, which are read from the token's row. If the rows have one value, that value is read.
// CHECK-LABEL: // dispatch: rowwise
// CHECK:         if (row >= batch->tokens * 8) {
// CHECK:         const i32 source = Routes(routes, batch, 8).token[row];
// CHECK-NEXT:    for (i32 i = threadIdx.x; i < 100; i += 128) {
// CHECK-NEXT:      const float e0 = x0[(i64)source * 128 + i];
// CHECK-NEXT:      const float e1 = x1[(i64)source * 32];
// CHECK:           y0[(i64)row * 128 + i] = f32_to_bf16({{.*}});
// CHECK:         pad_rows<100, 128>(y0, row, row + 1);
// CHECK:       // dispatch: grid tokens * 8 / 1, 1 * 1 / 1
kernel.func @dispatch(%x: !kernel.activation<100, f32>, %f: !kernel.activation<1, f32>, %y: !kernel.activation<100, bf16>, %r: !kernel.routes<64, 8>) {
  kernel.rowwise ins(%x, %f : !kernel.activation<100, f32>, !kernel.activation<1, f32>) outs(%y : !kernel.activation<100, bf16>) to %r : !kernel.routes<64, 8> attributes {extent = #kernel.extent<tokens>, rows_of_token = 8 : i64} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    kernel.yield %c : f32
  }
  kernel.return
}

// The (token, expert) pairs determine which row is in the order of which expert.
// CHECK-LABEL: // ordered: rowwise
// CHECK:         const i32 pair = blockIdx.x;
// CHECK-NEXT:    if (pair >= batch->tokens * 8) {
// CHECK:         const i32 row = Routes(routes, batch, 8).row[pair];
// CHECK-NEXT:    const float *order = columns + (i64)Routes(routes, batch, 8).expert[pair] * 128;
// CHECK-NEXT:    const i32 source = Routes(routes, batch, 8).token[row];
// CHECK-NEXT:    for (i32 i = threadIdx.x; i < 100; i += 128) {
// CHECK-NEXT:      const i32 column = (i32)order[i];
// CHECK-NEXT:      const float e0 = x0[(i64)source * 128 + column];
// CHECK-NEXT:      y0[(i64)row * 128 + i] = f32_to_bf16(e0);
kernel.func @ordered(%x: !kernel.activation<100, f32>, %c: !lm.weight<8192, f32>, %y: !kernel.activation<100, bf16>, %r: !kernel.routes<64, 8>) {
  kernel.rowwise ins(%x : !kernel.activation<100, f32>) outs(%y : !kernel.activation<100, bf16>) to %r : !kernel.routes<64, 8> by %c : !lm.weight<8192, f32> attributes {extent = #kernel.extent<tokens>, rows_of_token = 8 : i64} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// Tiles of one expert's rows, with its matrices and its bias. A step of few tokens has at most one tile per (token,
// expert) pair; the function loops over the tiles of all experts.
// CHECK-LABEL: // gate_up: matmul
// CHECK:       KERNEL void __launch_bounds__(128, LEAST_BLOCKS(1)) gate_up_t8(const u16 *x, const u8 *w0, const u8 *w1, const float *vector0, u16 *y0, const i32 *routes, const BatchView *batch) {
// CHECK:         const i32 tile = blockIdx.x;
// CHECK-NEXT:    each_row_tile<8, 8>(routes, batch, [&](i32 expert, i32 first, i64 end) {
// CHECK-NEXT:      const u8 *const weights[2] = {w0 + (i64)expert * 5760, w1 + (i64)expert * 5760};
// CHECK-NEXT:      matmul_decode<Q4_0, 100, 4, 1, 1>(weights, (const u8 *)x, 72, tile, first, &end, shared,
// CHECK:           held[0] = vector0[expert * 96 + row];
// CHECK:           store_0(y0, token, row, sum, held[0]);
// CHECK:           if (blockIdx.x == 4)
// CHECK-NEXT:        pad_rows<72, 128>(y0, first, first + 8 < end ? first + 8 : (i32)end);
// CHECK:       gate_up_t32(
// CHECK:         each_row_tile<8, 32>
// CHECK:       gate_up_prefill(
// CHECK:         const i32 tile = blockIdx.x * 4;
// CHECK-NEXT:    each_row_tile<8, 64>
// CHECK-NEXT:      const u8 *const weights
// CHECK-NEXT:      matmul_prefill<Q4_0, 100, 4, 4, 1>
// CHECK:       // gate_up_t8: grid 1 * 5 / 1, tokens * 8 / 1; 128 threads, 5120 bytes, at most 8
// CHECK-NEXT:  // gate_up_t8: grid 1 * 5 / 1, 1 * 64 / 1; 128 threads, 5120 bytes, at most 32
// CHECK-NEXT:  // gate_up_t32: grid 1 * 5 / 1, 1 * 64 / 1; 128 threads, 20480 bytes, at most 128
// CHECK-NEXT:  // gate_up_prefill: grid 1 * 2 / 1, tokens * 8 / 32; 256 threads, 49152 bytes
kernel.func @gate_up(%x: !kernel.activation<100, bf16>, %w0: !lm.weight<64x72x100, q4_0>, %w1: !lm.weight<64x72x100, q4_0>, %b0: !lm.weight<64x72x1, f32>, %y: !kernel.activation<72, bf16>, %r: !kernel.routes<64, 8>) {
  kernel.matmul %x : !kernel.activation<100, bf16> weights(%w0, %w1 : !lm.weight<64x72x100, q4_0>, !lm.weight<64x72x100, q4_0>) aux(%b0 : !lm.weight<64x72x1, f32>) outs(%y : !kernel.activation<72, bf16>) of %r : !kernel.routes<64, 8> attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32, %b: f32):
    %a = arith.addf %g, %b : f32
    %m = arith.mulf %a, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// One block per 1,024 columns of a token.
// CHECK-LABEL: // combine: combine
// CHECK:         combine_rows<2100, 8>(x, routes, y, batch);
// CHECK:       // combine: grid tokens * 3 / 1, 1 * 1 / 1; 256 threads
kernel.func @combine(%x: !kernel.activation<2100, f32>, %r: !kernel.routes<64, 8>, %y: !kernel.activation<2100, f32>) {
  kernel.combine %x by %r : !kernel.activation<2100, f32>, !kernel.routes<64, 8> outs(%y : !kernel.activation<2100, f32>)
  kernel.return
}

// With large scale groups, 96 rows fit the registers too, for prompts that give each expert many rows.
// CHECK-LABEL: // down: matmul
// CHECK:       // down_t8: grid 1 * 5 / 1, tokens * 2 / 1; 128 threads, 2560 bytes, at most 2
// CHECK-NEXT:  // down_t8: grid 1 * 5 / 1, 1 * 5 / 1; 128 threads, 2560 bytes, at most 10
// CHECK-NEXT:  // down_t32: grid 1 * 5 / 1, 1 * 5 / 1; 128 threads, 10240 bytes, at most 40
// CHECK-NEXT:  // down_prefill: grid 1 * 1 / 1, tokens * 2 / 32; 256 threads, 49152 bytes, at most 160
// CHECK-NEXT:  // down_prefill96: grid 1 * 1 / 1, tokens * 2 / 48; 256 threads, 73728 bytes
kernel.func @down(%x: !kernel.activation<256, bf16>, %w: !lm.weight<5x72x256, int4_g128>, %y: !kernel.activation<72, f32>, %r: !kernel.routes<5, 2>) {
  kernel.matmul %x : !kernel.activation<256, bf16> weights(%w : !lm.weight<5x72x256, int4_g128>) outs(%y : !kernel.activation<72, f32>) of %r : !kernel.routes<5, 2> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// Sinks are merged after all KV chunks of a tile.
// CHECK-LABEL: // sunk: attention
// CHECK:         static constexpr bool fp8 = false, shares = true, packs = true, sinks = true;
// CHECK:         attention_prefill<Shape>(q, pool, y, sinks, batch, shared);
// CHECK:         attention_decode<Shape>(q, pool, y, sinks, workspace, batch, shared, arrived);
kernel.func @sunk(%q: !kernel.activation<512, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<512, bf16>, %s: !lm.weight<8, f32>) {
  kernel.attention %q, %kv : !kernel.activation<512, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<512, bf16>) sinks %s : !lm.weight<8, f32> {heads = 8 : i64, scale = 0.125 : f32}
  kernel.return
}
