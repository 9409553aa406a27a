// Gemma's layers: a normed value is added, and the sum is normed again. The last norm reads selected rows.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-fuse-norms))' | FileCheck %s

// CHECK: %[[A:.*]]:2 = lm.fused "norm_residual_norm" -> tensor<?x64xf32>, tensor<?x64xf32> {
// CHECK: lm.linear %[[A]]#1
// CHECK: lm.fused "norm_residual" -> tensor<?x64xf32> {
// CHECK:   lm.add %[[A]]#0
// CHECK: lm.fused "select_norm"
// CHECK:   lm.select_rows
// CHECK:   lm.rms_norm

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = "w"}
  lm.weight @n1 : !lm.weight<64, f32> {source = "n1"}
  lm.weight @n2 : !lm.weight<64, f32> {source = "n2"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}, %n1: !lm.weight<64, f32> {lm.role = "n1"}, %n2: !lm.weight<64, f32> {lm.role = "n2"}) -> tensor<?x64xf32> {
    %o = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %p = lm.rms_norm %o, %n1 {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %x1 = lm.add %x, %p : tensor<?x64xf32>
    %m = lm.rms_norm %x1, %n2 {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %d = lm.linear %m, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %p2 = lm.rms_norm %d, %n1 {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %x2 = lm.add %x1, %p2 : tensor<?x64xf32>
    lm.return %x2 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[]], weights = [[@w, @n1, @n2]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %nw = lm.get_weight @n1 : !lm.weight<64, f32>
    %rn = lm.rms_norm %r, %nw {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %l = lm.linear %rn, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
