// Layer norms: two statistics of a row, one after the other. The last norm reads selected rows. A norm parallel to
// attention (a parallel residual) reads the layer's input before the sum takes its place.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline,kernel-norm-prologues)' | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: kernel.func @norm_0
// CHECK:         kernel.rowwise
// CHECK:         ^bb0(%[[X:.*]]: f32, %[[W:.*]]: f32, %[[B:.*]]: f32):
// CHECK:           %[[MEAN:.*]] = kernel.row_stat mean %[[X]]
// CHECK:           %[[D:.*]] = arith.subf %[[X]], %[[MEAN]]
// CHECK:           %[[SQUARE:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK:           %[[VARIANCE:.*]] = kernel.row_stat mean %[[SQUARE]]
// CHECK:           math.sqrt
// CHECK:           arith.mulf %{{.*}}, %[[W]]
// CHECK:           arith.addf %{{.*}}, %[[B]]
// CHECK:       plan.section @layer {
// CHECK-NEXT:    plan.launch @norm_0 [#plan.buffer<@x>,
// CHECK-NEXT:    plan.launch @norm_0 [#plan.buffer<@x>,
// CHECK:         plan.launch @residual_0 {{.*}}#plan.buffer<@x>, #plan.buffer<@x>]
// CHECK-NEXT:    plan.launch @residual_0 {{.*}}#plan.buffer<@x>, #plan.buffer<@x>]
// CHECK-NEXT:  }
// CHECK:       plan.section @end {
// CHECK-NEXT:    plan.launch @select_norm_0
// CHECK-NEXT:    plan.launch @linear_
// CHECK-NEXT:  }

// In steps of few tokens, projections compute the norm themselves.
// CUDA:        kernel.func @linear_0{{.*}}_norm(
// CUDA-NEXT:     %[[X:.+]] = kernel.rowwise
// CUDA:            kernel.row_stat
// CUDA:            kernel.row_stat
// CUDA:          kernel.matmul %[[X]] : !kernel.fused<64, bf16>

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = #lm.rows<"w" from 64 [64]>}
  lm.weight @n : !lm.weight<64, f32> {source = "n"}
  lm.weight @b : !lm.weight<64, f32> {source = "b"}
  lm.state @kv.0 : #lm.paged<[k: 4x16, v: 4x16]>
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 4x16, v: 4x16]>>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}, %n: !lm.weight<64, f32> {lm.role = "n"}, %nb: !lm.weight<64, f32> {lm.role = "nb"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 4x16, v: 4x16]>>) {
    %p = lm.layer_norm %x, %n, %nb : !lm.weight<64, f32> {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %m = lm.layer_norm %x, %nb, %n : !lm.weight<64, f32> {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %q = lm.linear %p, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %k = lm.linear %p, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %v = lm.linear %p, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %kv1 = lm.kv_append %k, %v, %kv at %b : tensor<?x64xf32>, tensor<?x64xf32>, !lm.state<#lm.paged<[k: 4x16, v: 4x16]>>
    %a = lm.attention %q, %kv1, %b {heads = 4 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 4x16, v: 4x16]>> -> tensor<?x64xf32>
    %o = lm.linear %a, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %h = lm.add %x, %o : tensor<?x64xf32>
    %d = lm.linear %m, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %y = lm.add %h, %d : tensor<?x64xf32>
    lm.return %y, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 4x16, v: 4x16]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[@kv.0]], weights = [[@w, @n, @b]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %nw = lm.get_weight @n : !lm.weight<64, f32>
    %rn = lm.layer_norm %r, %nw {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %l = lm.linear %rn, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
