// Why a norm stays a separate launch in steps of few tokens.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-norm-prologues)' --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s

// CHECK-DAG: [Missed] norm_prologue | Category:fusion | {{.*}}Reason="it also writes f32 rows, which the blocks must not write"
// CHECK-DAG: [Missed] norm_prologue | Category:fusion | {{.*}}Reason="its input is overwritten before all consumers of its rows are done"
// CHECK-DAG: [Missed] norm_prologue | Category:fusion | {{.*}}Reason="nothing in its stage reads its rows"
// CHECK-DAG: [Missed] norm_prologue | Category:fusion | {{.*}}Reason="it and a consumer of its rows count differently: one tokens, the other logits rows"
// CHECK-NOT: plan.when

kernel.func @round(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, bf16>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, bf16>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
kernel.func @select(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, bf16>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, bf16>) attributes {extent = #kernel.extent<rows>, gather} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
kernel.func @both(%x: !kernel.activation<64, f32>, %z: !kernel.activation<64, f32>, %y: !kernel.activation<64, bf16>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%z, %y : !kernel.activation<64, f32>, !kernel.activation<64, bf16>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a, %a : f32, f32
  }
  kernel.return
}
kernel.func @residual(%x: !kernel.activation<64, bf16>, %w: !lm.weight<64x64, bf16>, %r: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<64x64, bf16>) aux(%r : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %a: f32):
    %s = arith.addf %acc, %a : f32
    kernel.yield %s : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 64 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<64x64, bf16>
  plan.buffer @x per_token 256 persistent
  plan.buffer @n per_token 128
  plan.buffer @z per_token 256
  plan.section @two_outputs {
    plan.launch @both [#plan.buffer<@x>, #plan.buffer<@z>, #plan.buffer<@n>]
    plan.launch @residual [#plan.buffer<@n>, #plan.layer_weight<0>, #plan.buffer<@z>, #plan.buffer<@z>]
  }
  plan.section @in_place {
    plan.launch @round [#plan.buffer<@x>, #plan.buffer<@n>]
    plan.launch @residual [#plan.buffer<@n>, #plan.layer_weight<0>, #plan.buffer<@x>, #plan.buffer<@x>]
  }
  plan.section @unread {
    plan.launch @round [#plan.buffer<@x>, #plan.buffer<@n>]
  }
  plan.section @counts {
    plan.launch @select [#plan.buffer<@x>, #plan.buffer<@n>]
    plan.launch @residual [#plan.buffer<@n>, #plan.layer_weight<0>, #plan.buffer<@z>, #plan.buffer<@z>]
  }
  plan.entry @generate modes [logits] {
    plan.step @two_outputs weights [@m]
    plan.step @in_place weights [@m]
    plan.step @unread
    plan.step @counts weights [@m]
  }
}
