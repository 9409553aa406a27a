// Each step counts the launches of its section; every operand of a launch counts once. Numbers by hand:
//
//                    weights                     per token                      per row
//   embed            -                           a row of @w (64 f32) 256 +     -
//                                                256 written
//   norm, twice      @n: 64 f32           256    256 read + 256 written         -
//   head             @w: 2 panels x 8192  16384  -                              256 read + 256 written (40 of 64 f32)
//   append           -                           q, table: 2 x 256 read, q 256  -
//                                                written; k, v: 2 x 256 read,
//                                                2 x 64 f16 written: 256
//   attend           -                           256 read + 256 written         -
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan.program(plan-count-traffic))' | FileCheck %s

// CHECK: plan.program @p attributes {bytes_per_step = array<i64: 16896, 3584, 512>, {{.*}} launches = 6 : i64

kernel.func @embed(%w: !lm.weight<40x64, f32, panel32>, %y: !kernel.activation<64, f32>) {
  kernel.gather %w : !lm.weight<40x64, f32, panel32> outs(%y : !kernel.activation<64, f32>) {scale = 1.0 : f32}
  kernel.return
}
kernel.func @norm(%x: !kernel.activation<64, f32>, %n: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %n : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %b : f32
    kernel.yield %0 : f32
  }
  kernel.return
}
kernel.func @append(%q: !kernel.activation<64, f32>, %k: !kernel.activation<64, f32>, %v: !kernel.activation<64, f32>, %t: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, f16>) {
  kernel.rope_append %q, %k, %v table %t : !kernel.activation<64, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, f16>
  kernel.return
}
kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, f16>, %y: !kernel.activation<64, f32>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, f16> outs(%y : !kernel.activation<64, f32>) {heads = 1 : i64, scale = 1.0 : f32}
  kernel.return
}
kernel.func @head(%x: !kernel.activation<64, f32>, %w: !lm.weight<40x64, f32, panel32>, %y: !kernel.activation<40, f32>) {
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<40x64, f32, panel32>) outs(%y : !kernel.activation<40, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<40x64, f32, panel32>
  plan.weight @n : !lm.weight<64, f32>
  plan.buffer @x per_token 256
  plan.buffer @y per_token 256
  plan.buffer @l per_row 256
  plan.section @begin {
    plan.launch @embed [#plan.weight<@w>, #plan.buffer<@x>]
  }
  plan.section @layer {
    plan.launch @norm [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@y>]
  }
  plan.section @end {
    plan.launch @append [#plan.buffer<@x>, #plan.buffer<@y>, #plan.buffer<@y>, #plan.buffer<@y>, #plan.state<0>]
    plan.launch @attend [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@y>]
    plan.launch @head [#plan.buffer<@y>, #plan.weight<@w>, #plan.buffer<@l>]
  }
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "f16" window 0 bytes 8192
  plan.entry @generate modes [logits] {
    plan.step @begin
    plan.step @layer weights [@n]
    plan.step @layer weights [@n]
    plan.step @end states [@kv.0]
  }
}
