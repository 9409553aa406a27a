// A short convolution between two gates: three projections in one launch, the products row by row, the convolution with the
// state of its layer. The gated rows are written in the encoding that the output projection reads, which also adds the
// residual.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels{precision=fast kv=f16},kernel-place,plan-outline)' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline)' | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: kernel.func @conv_0(
// CHECK-SAME:    %[[X:.*]]: !kernel.activation<64, f32>, %[[W:.*]]: !lm.weight<192, f32>, %[[B:.*]]: !lm.weight<64, f32>, %[[S:.*]]: !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>>, %[[Y:.*]]: !kernel.activation<64, f32>)
// CHECK:         kernel.causal_conv %[[X]], %[[W]] bias %[[B]] : !lm.weight<64, f32> over %[[S]] : <64, f32>, <192, f32>, <#lm.fixed<[x: 2x64 x f32]>> outs(%[[Y]] : <64, f32>)
// CHECK:       plan.section @conv {
// CHECK:         plan.launch @projections_0 {{.*}} #plan.buffer<@[[GATE:.*]]>, #plan.buffer<@[[OTHER:.*]]>, #plan.buffer<@[[IN:.*]]>]
// CHECK-NEXT:    plan.launch @mul_0 [#plan.buffer<@[[GATE]]>, #plan.buffer<@[[IN]]>, #plan.buffer<@[[PRODUCT:.*]]>]
// CHECK-NEXT:    plan.launch @conv_0 [#plan.buffer<@[[PRODUCT]]>, #plan.layer_weight<{{.*}}>, #plan.layer_weight<{{.*}}>, #plan.state<0>, #plan.buffer<@[[MIXED:.*]]>]
// CHECK-NEXT:    plan.launch @mul_1 [#plan.buffer<@[[OTHER]]>, #plan.buffer<@[[MIXED]]>, #plan.buffer<@[[QUANTIZED:.*]]>]
// CHECK-NEXT:    plan.launch @residual_0 [#plan.buffer<@[[QUANTIZED]]>, {{.*}}, #plan.buffer<@x>, #plan.buffer<@x>]
// CHECK-NEXT:  }
// CHECK:       plan.state @conv.0 : #lm.fixed<[x: 2x64 x f32]> bytes 512
// CHECK:       plan.state @conv.1 : #lm.fixed<[x: 2x64 x f32]> bytes 512
// CHECK:       plan.step @conv layer 0 states [@conv.0]
// CHECK:       plan.step @conv layer 1 states [@conv.1]

// CUDA:        plan.launch @conv_0 {{.*}}#plan.state<0>, #plan.buffer<@[[MIXED:.*]]>]
// CUDA-NEXT:   plan.launch @mul_1 [{{.*}}, #plan.buffer<@[[MIXED]]>, #plan.buffer<@[[ROUNDED:.*]]>]
// CUDA-NEXT:   plan.launch @residual_0 [#plan.buffer<@[[ROUNDED]]>,

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = #lm.rows<"w" from 64 [64]>}
  lm.weight @v : !lm.weight<64x64, q4_0> {source = #lm.rows<"w" from 128 [64]>}
  lm.weight @taps : !lm.weight<192, f32> {source = #lm.rows<"taps" [3, 64 by 3]>}
  lm.weight @bias : !lm.weight<64, f32> {source = "bias"}
  lm.state @conv.0 : #lm.fixed<[x: 2x64 x f32]>
  lm.state @conv.1 : #lm.fixed<[x: 2x64 x f32]>
  lm.layer_kind @conv(%h: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}, %v: !lm.weight<64x64, q4_0> {lm.role = "v"}, %taps: !lm.weight<192, f32> {lm.role = "taps"}, %bias: !lm.weight<64, f32> {lm.role = "bias"}) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>) {
    %normed = lm.rms_norm %h, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %in = lm.linear %normed, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %out = lm.linear %normed, %w, %bias : !lm.weight<64, f32> : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %x = lm.linear %normed, %v : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %gated = lm.mul %in, %x : tensor<?x64xf32>
    %y, %s1 = lm.causal_conv %gated, %taps, %bias : !lm.weight<64, f32> over %s at %b : tensor<?x64xf32>, !lm.weight<192, f32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
    %mixed = lm.mul %out, %y : tensor<?x64xf32>
    %o = lm.linear %mixed, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %h1 = lm.add %h, %o : tensor<?x64xf32>
    lm.return %h1, %s1 : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@conv, @conv], states = [[@conv.0], [@conv.1]], weights = [[@bias, @w, @v, @taps, @bias], [@bias, @w, @v, @taps, @bias]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
