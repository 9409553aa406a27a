// The operands of sums and products may come in either order, and each file has the same effect in its pass as under
// lm-apply-patterns.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-fuse-gate-up,lm-fuse-residual,lm-fuse-norms))' > %t.passes
// RUN: FileCheck %s < %t.passes
// DEFINE: %{patterns} = %S/../../../passes/patterns
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%{patterns}/GateUp.pdll},lm-apply-patterns{patterns=%{patterns}/Residual.pdll},lm-apply-patterns{patterns=%{patterns}/Norms.pdll}))' > %t.files
// RUN: diff %t.passes %t.files

// CHECK:      lm.fused "gate_up"
// CHECK:        %[[S:.*]] = lm.activation
// CHECK-NEXT:   lm.mul %{{.*}}, %[[S]]
// CHECK:      lm.fused "residual"
// CHECK-NEXT:   %[[D:.*]] = lm.linear
// CHECK-NEXT:   lm.add %[[D]], %arg0

// In a sum of two projections the second is fused.
// CHECK:      %[[A:.*]] = lm.linear
// CHECK:      lm.fused "residual"
// CHECK-NEXT:   %[[B:.*]] = lm.linear
// CHECK-NEXT:   lm.add %[[A]], %[[B]]

// CHECK:      lm.fused "norm_residual_norm"
// CHECK-NEXT:   %[[N:.*]] = lm.rms_norm
// CHECK-NEXT:   lm.add %[[N]],
// CHECK-NEXT:   lm.rms_norm
// CHECK:      lm.fused "norm_residual"
// CHECK-NEXT:   %[[M:.*]] = lm.rms_norm
// CHECK-NEXT:   lm.add %[[M]],

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    %g = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %u = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %s = lm.activation silu %g : tensor<?x64xf32>
    %h = lm.mul %u, %s : tensor<?x64xf32>
    %d = lm.linear %h, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %x1 = lm.add %d, %x : tensor<?x64xf32>
    %p = lm.linear %x1, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %q = lm.linear %h, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %x2 = lm.add %p, %q : tensor<?x64xf32>
    %n1 = lm.rms_norm %x2, %n {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %x3 = lm.add %n1, %x1 : tensor<?x64xf32>
    %n2 = lm.rms_norm %x3, %n {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %y = lm.linear %n2, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %n3 = lm.rms_norm %y, %n {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %x4 = lm.add %n3, %x3 : tensor<?x64xf32>
    lm.return %x4 : tensor<?x64xf32>
  }
}
