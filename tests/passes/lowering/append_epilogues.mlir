// In steps of few tokens, the append follows a copy of the projection in one kernel: pool and table are its operands,
// rows of k and v are not.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-append-epilogues)' --remarks-filter-passed=fusion --remark-policy=all 2>&1 | FileCheck %s

// CHECK: remark: [Passed] append_epilogue | Category:fusion | {{.*}}Remark="done by the projections in steps of at most 8"
// CHECK-LABEL: kernel.func @qkv_append(
// CHECK-SAME:    %[[Q:[^:]+]]: !kernel.activation<64, f32>, %[[KV:[^:]+]]: !kernel.kv_pool<1, 64, bf16>, %[[T:[^:]+]]: !kernel.activation<64, f32>) {
// CHECK:         %[[F:.+]]:3 = kernel.matmul {{.*}} -> !kernel.fused<64, f32>, !kernel.fused<64, f32>, !kernel.fused<64, f32> attributes
// CHECK:         %[[R:.+]] = kernel.rope_append %[[F]]#0, %[[F]]#1, %[[F]]#2 table %[[T]] : !kernel.activation<64, f32> into %[[KV]] {{{.*}}style = #lm.rope_style<half>
// CHECK-NEXT:    kernel.store %[[R]] : <64, f32> into %[[Q]] : <64, f32>
// CHECK:       plan.section @layer {
// CHECK-NEXT:    plan.when [tokens <= 8] {
// CHECK-NEXT:      plan.launch @qkv_append [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.state<0>, #plan.buffer<@t>]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
// CHECK-NEXT:      plan.launch @rope [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.state<0>]
// CHECK-NEXT:    }

kernel.func @qkv(%x: !kernel.activation<64, bf16>, %w: !lm.weight<64x64, bf16, frag16>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<64, f32>, %y2: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<64x64, bf16, frag16>, !lm.weight<64x64, bf16, frag16>, !lm.weight<64x64, bf16, frag16>) outs(%y0, %y1, %y2 : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
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
kernel.func @rope(%q: !kernel.activation<64, f32>, %k: !kernel.activation<64, f32>, %v: !kernel.activation<64, f32>, %t: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>) {
  kernel.rope_append %q, %k, %v table %t : !kernel.activation<64, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16>
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 64 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<64x64, bf16, frag16>
  plan.weight @n : !lm.weight<64, f32>
  plan.buffer @x per_token 128 persistent
  plan.buffer @t per_token 256 persistent
  plan.buffer @q per_token 256
  plan.buffer @k per_token 256
  plan.buffer @v per_token 256
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "bf16" window 0 bytes 8192
  plan.section @layer {
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
    plan.launch @rope [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.state<0>]
  }
  plan.entry @generate modes [logits] {
    plan.step @layer states [@kv.0]
  }
}
