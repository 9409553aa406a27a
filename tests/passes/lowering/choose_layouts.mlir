// The target chooses a matrix's layout from all of its consumers: the tied embedding is gathered in one section and
// multiplied in another, and two layers pass their matrices to one kernel. Matrices that are multiplied by f32 rows are
// in panels on GPUs as well. Vectors have no layout. The layouts determine the bytes of a step: 2176 for 2 panels of
// the head or 3264 for 3 tiles, and for each layer 8192 for a matrix and 256 for a vector.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-choose-layouts,plan.program(plan-count-traffic))' | FileCheck %s --check-prefixes=CHECK,CPU -DL=panel32
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-choose-layouts{device=cuda},plan.program(plan-count-traffic))' | FileCheck %s --check-prefixes=CHECK,GPU -DL=frag16
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(kernel-choose-layouts{device=npu})' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(plan.program(plan-count-traffic))' 2>&1 | FileCheck %s --check-prefix=OPEN

// NONE: for the --device option: expects one of cpu cuda, got npu
// OPEN: reads a matrix without a layout: run kernel-choose-layouts first

// CHECK:       kernel.func @embed(%{{.+}}: !lm.weight<40x64, int4_g64, [[L]]>,
// CHECK-NEXT:    kernel.gather %{{.+}} : <40x64, int4_g64, [[L]]>
// CHECK:       kernel.func @layer(
// CHECK-SAME:    !lm.weight<64x64, bf16, panel32>, %{{.+}}: !lm.weight<64, f32>
// CHECK:       kernel.func @head(
// CHECK-NEXT:    kernel.matmul {{.+}} weights(%{{.+}} : !lm.weight<40x64, int4_g64, [[L]]>)
// CPU:         plan.program @p attributes {bytes_per_step = array<i64: 19072, 1314, 512>
// GPU:         plan.program @p attributes {bytes_per_step = array<i64: 20160, 1348, 512>
// CHECK:       plan.weight @embd : !lm.weight<40x64, int4_g64, [[L]]>
// CHECK:       plan.weight @w0 : !lm.weight<64x64, bf16, panel32>
// CHECK:       plan.weight @w1 : !lm.weight<64x64, bf16, panel32>
// CHECK:       plan.weight @bias : !lm.weight<64, f32>
// CHECK:       plan.weight @spare : !lm.weight<16x64, q8_0, [[L]]>

kernel.func @embed(%w: !lm.weight<40x64, int4_g64>, %y: !kernel.activation<64, f32>) {
  kernel.gather %w : !lm.weight<40x64, int4_g64> outs(%y : !kernel.activation<64, f32>) {scale = 1.0 : f32}
  kernel.return
}
kernel.func @layer(%x: !kernel.activation<64, f32>, %w: !lm.weight<64x64, bf16>, %b: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<64x64, bf16>) aux(%b : !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    kernel.yield %s : f32
  }
  kernel.return
}
kernel.func @head(%x: !kernel.activation<64, f32>, %w: !lm.weight<40x64, int4_g64>, %y: !kernel.activation<40, f32>) {
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<40x64, int4_g64>) outs(%y : !kernel.activation<40, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @embd : !lm.weight<40x64, int4_g64> {source = "embd"}
  plan.weight @w0 : !lm.weight<64x64, bf16> {source = "w0"}
  plan.weight @w1 : !lm.weight<64x64, bf16> {source = "w1"}
  plan.weight @bias : !lm.weight<64, f32> {source = "bias"}
  plan.weight @spare : !lm.weight<16x64, q8_0> {source = "spare"}
  plan.buffer @x per_token 256
  plan.buffer @y per_token 256
  plan.buffer @logits per_row 256
  plan.section @begin {
    plan.launch @embed [#plan.weight<@embd>, #plan.buffer<@x>]
  }
  plan.section @block {
    plan.launch @layer [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.layer_weight<1>, #plan.buffer<@y>]
  }
  plan.section @end {
    plan.launch @head [#plan.buffer<@y>, #plan.weight<@embd>, #plan.buffer<@logits>]
  }
  plan.entry @generate modes [logits] {
    plan.step @begin
    plan.step @block layer 0 weights [@w0, @bias]
    plan.step @block layer 1 weights [@w1, @bias]
    plan.step @end
    plan.output logits f32 @logits
  }
}
