// Columns in another order (act-order): a launch that copies rows, in the encoding that projections read. Projections
// of one input share the launch, which is never in place.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels{precision=fast kv=f16},kernel-place,plan-outline)' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' | FileCheck %s --check-prefix=EXACT
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline,kernel-norm-prologues{device=cuda})' | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: kernel.func @permute_0(%arg0: !kernel.activation<64, f32>, %arg1: !kernel.activation<64, q8>, %arg2: !lm.weight<64, f32>)
// CHECK-NEXT:    kernel.rowwise ins(%arg0 : !kernel.activation<64, f32>) outs(%arg1 : !kernel.activation<64, q8>) by %arg2 : !lm.weight<64, f32>
// CHECK:       plan.section @plain {
// CHECK-NEXT:    plan.launch @norm_0 [{{.*}}, #plan.buffer<@[[N:.*]]>]
// CHECK-NEXT:    plan.launch @permute_0 [#plan.buffer<@[[N]]>, #plan.buffer<@[[P:.*]]>, #plan.layer_weight<2>]
// CHECK-NEXT:    plan.launch @group_0 [#plan.buffer<@[[P]]>,
// CHECK-NEXT:    plan.launch @permute_0 [{{.*}}, #plan.layer_weight<2>]

// EXACT:       kernel.rowwise ins(%{{.*}} : !kernel.activation<64, f32>) outs(%{{.*}} : !kernel.activation<64, f32>) by

// CUDA-LABEL:  kernel.func @permute_0(%arg0: !kernel.activation<64, f32>, %arg1: !kernel.activation<64, bf16>, %arg2: !lm.weight<64, f32>)
// CUDA:        plan.section @plain {
// CUDA-NEXT:     plan.launch @norm_0
// CUDA-NEXT:     plan.launch @permute_0

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = "w"}
  lm.weight @norm : !lm.weight<64, f32> {source = "norm"}
  lm.weight @columns : !lm.weight<64, f32> {source = "columns"}
  lm.layer_kind @plain(%h: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}, %c: !lm.weight<64, f32> {lm.role = "c"}) -> tensor<?x64xf32> {
    %normed = lm.rms_norm %h, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %sorted = lm.permute %normed by %c : tensor<?x64xf32>, !lm.weight<64, f32>
    %gate = lm.linear %sorted, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %up = lm.linear %sorted, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %active = lm.activation silu %gate : tensor<?x64xf32>
    %product = lm.mul %active, %up : tensor<?x64xf32>
    %again = lm.permute %product by %c : tensor<?x64xf32>, !lm.weight<64, f32>
    %o = lm.linear %again, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %h1 = lm.add %h, %o : tensor<?x64xf32>
    lm.return %h1 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@plain], states = [[]], weights = [[@norm, @w, @columns]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
