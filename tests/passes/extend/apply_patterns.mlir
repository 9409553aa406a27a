// The patterns that come with Ingot, from PDLL, and one of PDL IR. x + x becomes a scale, and a scale of a scale
// becomes a single scale, unless the inner scale has another user.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%S/../../../passes/patterns/Scales.pdll}))' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%S/Inputs/twins.pdl.mlir}))' | FileCheck %s --check-prefix=PDL
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%S/Inputs/twins.pdl.mlir}))' --remarks-filter-passed=fusion --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK:      %[[W:.*]] = lm.linear
// CHECK-NEXT: %[[BOTH:.*]] = lm.scale %[[W]] {factor = 3.000000e+00 : f32}
// CHECK-NEXT: %[[OTHER:.*]] = lm.scale %[[BOTH]] {factor = 5.000000e-01 : f32}
// CHECK-NEXT: lm.mul %[[BOTH]], %[[OTHER]]

// PDL:      %[[W:.*]] = lm.linear
// PDL-NEXT: %[[TWICE:.*]] = lm.scale %[[W]] {factor = 2.000000e+00 : f32}
// PDL-NEXT: lm.scale %[[TWICE]] {factor = 3.000000e+00 : f32}

// REMARK: remark: [Passed] patterns | Category:fusion | {{.*}}1 rewrites by {{.*}}twins.pdl.mlir

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = "w"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %1 = lm.add %0, %0 : tensor<?x64xf32>
    %2 = lm.scale %1 {factor = 3.0 : f32} : tensor<?x64xf32>
    %3 = lm.scale %2 {factor = 0.5 : f32} : tensor<?x64xf32>
    %4 = lm.scale %3 {factor = 0.5 : f32} : tensor<?x64xf32>
    %5 = lm.mul %3, %4 : tensor<?x64xf32>
    lm.return %5 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[]], weights = [[@w]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
