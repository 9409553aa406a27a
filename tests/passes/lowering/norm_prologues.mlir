// In steps of few tokens, the norm is computed in copies of the kernels of q and gate, which have its inputs as
// operands instead of x. A block's weight is 16 x 64 bf16, 2048 bytes; half of that is four rows of the input. The pair
// reads twice as much, but both kernels use the same limit.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-norm-prologues)' --remarks-filter-passed=fusion --remark-policy=all 2>&1 | FileCheck %s

// CHECK: remark: [Passed] norm_prologue | Category:fusion | {{.*}}Remark="computed by 2 projections in steps of at most 4"

// CHECK-LABEL: kernel.func @q_norm(
// CHECK-SAME:    %{{[^:]+}}: !lm.weight<32x64, bf16, frag16>, %{{[^:]+}}: !kernel.activation<32, f32>, %[[IN:[^:]+]]: !kernel.activation<64, f32>, %[[W:[^:]+]]: !lm.weight<64, f32>) {
// CHECK-NEXT:    %[[X:.+]] = kernel.rowwise ins(%[[IN]], %[[W]] : !kernel.activation<64, f32>, !lm.weight<64, f32>) -> !kernel.fused<64, bf16>
// CHECK-NEXT:    ^bb0(%{{.+}}: f32, %{{.+}}: f32):
// CHECK:           kernel.row_stat mean
// CHECK:         kernel.matmul %[[X]] : !kernel.fused<64, bf16> weights(
// CHECK-LABEL: kernel.func @pair_norm(
// CHECK:       plan.section @layer {
// CHECK-NEXT:    plan.when [tokens <= 4] {
// CHECK-NEXT:      plan.launch @q_norm [#plan.layer_weight<1>, #plan.buffer<@y>, #plan.buffer<@x>, #plan.layer_weight<0>]
// CHECK-NEXT:      plan.launch @pair_norm [#plan.layer_weight<2>, #plan.layer_weight<3>, #plan.buffer<@z>, #plan.buffer<@x>, #plan.layer_weight<0>]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      plan.launch @norm [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@n>]
// CHECK-NEXT:      plan.launch @q [#plan.buffer<@n>, #plan.layer_weight<1>, #plan.buffer<@y>]
// CHECK-NEXT:      plan.launch @pair [
// CHECK-NEXT:    }
// The section @plain has no such copies: there the consumer counts logits rows.
// CHECK:       plan.section @plain {
// CHECK-NEXT:    plan.launch @norm

kernel.func @norm(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, bf16>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, bf16>) attributes {extent = #kernel.extent<tokens>} {
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
kernel.func @q(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, bf16, frag16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, bf16, frag16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @pair(%x: !kernel.activation<64, bf16>, %w0: !lm.weight<32x64, bf16, frag16>, %w1: !lm.weight<32x64, bf16, frag16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w0, %w1 : !lm.weight<32x64, bf16, frag16>, !lm.weight<32x64, bf16, frag16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %p = arith.mulf %g, %u : f32
    kernel.yield %p : f32
  }
  kernel.return
}
kernel.func @widen(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, bf16, frag16>, %r: !kernel.activation<32, f32>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, bf16, frag16>) aux(%r : !kernel.activation<32, f32>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32, %a: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 32 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32>
  plan.weight @m : !lm.weight<32x64, bf16, frag16>
  plan.buffer @x per_token 256 persistent
  plan.buffer @n per_token 128
  plan.buffer @y per_token 128
  plan.buffer @z per_token 128
  plan.section @layer {
    plan.launch @norm [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@n>]
    plan.launch @q [#plan.buffer<@n>, #plan.layer_weight<1>, #plan.buffer<@y>]
    plan.launch @pair [#plan.buffer<@n>, #plan.layer_weight<2>, #plan.layer_weight<3>, #plan.buffer<@z>]
  }
  plan.section @plain {
    plan.launch @norm [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@n>]
    plan.launch @widen [#plan.buffer<@n>, #plan.layer_weight<1>, #plan.buffer<@z>, #plan.buffer<@y>]
  }
  plan.entry @generate modes [logits] {
    plan.step @layer weights [@w, @m, @m, @m]
    plan.step @plain weights [@w, @m]
  }
}
