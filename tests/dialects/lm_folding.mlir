// RUN: ingot-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: lm.layer_kind @layer
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    // A scale by one becomes its operand; two equal norms become one; unused ops are removed.
    // CHECK-NEXT: %[[N:.*]] = lm.rms_norm
    // CHECK-NEXT: %[[S:.*]] = lm.add %[[N]], %[[N]]
    // CHECK-NEXT: lm.return %[[S]]
    %0 = lm.scale %x {factor = 1.0 : f32} : tensor<?x64xf32>
    %1 = lm.rms_norm %0, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %2 = lm.rms_norm %x, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %unused = lm.activation silu %x : tensor<?x64xf32>
    %3 = lm.add %1, %2 : tensor<?x64xf32>
    lm.return %3 : tensor<?x64xf32>
  }
  lm.entry @step(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    // CHECK: lm.embed
    // CHECK-NEXT: %[[T:.*]] = lm.scale {{.*}} {factor = 2.000000e+00 : f32}
    // CHECK-NEXT: lm.return %[[T]]
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    %y = lm.scale %x {factor = 2.0 : f32} : tensor<?x64xf32>
    lm.return %y, %k : tensor<?x64xf32>, !lm.states
  }
}
