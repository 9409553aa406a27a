// References to weights multiplied by vectors: selected rows keep their factors, and quantised codes are not
// multiplied.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%S/Inputs/scale.pdll}))' 2>/dev/null | FileCheck %s

// CHECK-NOT:  lm.weight @w :
// CHECK:      lm.weight @w.rows_by.n.rows_32_32_and_w.rows_by.n.rows_32_32 : !lm.weight<64x64, f32>
// CHECK-SAME:   {lm.rows_of = {{\[\[}}"w", 32, 32, 64, {rows = ["n", 5.000000e-01 : f32, 0]}], ["w", 32, 32, 64, {rows = ["n", 5.000000e-01 : f32, 0]}]],
// CHECK-SAME:   source = #lm.rows<"w.weight" from 32 [32] rows by "n.weight" plus 5.000000e-01, "w.weight" from 32 [32] rows by "n.weight" plus 5.000000e-01>
// CHECK-NEXT: lm.weight @w.columns_by.n : !lm.weight<64x64, f32>
// CHECK-SAME:   source = #lm.rows<"w.weight" columns by "n.weight">
// CHECK-NEXT: lm.weight @q4
// CHECK-NEXT: lm.weight @n :
// CHECK-NEXT: lm.weight @ones_64 : !lm.weight<64, f32> {values = array<f32: 1.000000e+00, 1.000000e+00,
// CHECK:      lm.layer_kind @rows
// CHECK-SAME:   %[[W:[^ :]+]]: !lm.weight<64x64, f32> {lm.role = "w.rows_by.n.rows_32_32_and_w.rows_by.n.rows_32_32"}
// CHECK:        lm.linear %{{.*}}, %[[W]] :
// CHECK:      lm.layer_kind @columns
// CHECK:        %[[N:.*]] = lm.layer_norm %{{.*}}, %[[ONE:[^ :]+]] {eps
// CHECK:        lm.linear %[[N]], %{{.*}} : tensor<?x64xf32>, <64x64, f32>
// CHECK:      lm.layer_kind @codes
// CHECK:        lm.linear %{{.*}}, %{{.*}} : tensor<?x64xf32>, <64x64, q4_0>
lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @w : !lm.weight<64x64, bf16> {source = "w.weight"}
  lm.weight @q4 : !lm.weight<64x64, q4_0> {source = "q4.weight"}
  lm.weight @n : !lm.weight<64, f32> {source = "n.weight"}
  lm.layer_kind @rows(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %w: !lm.weight<64x64, bf16> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.rms_norm %x, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %1 = lm.linear %0, %w : tensor<?x64xf32>, !lm.weight<64x64, bf16> -> tensor<?x64xf32>
    lm.return %1 : tensor<?x64xf32>
  }
  lm.layer_kind @columns(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %w: !lm.weight<64x64, bf16> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.layer_norm %x, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %1 = lm.linear %0, %w : tensor<?x64xf32>, !lm.weight<64x64, bf16> -> tensor<?x64xf32>
    lm.return %1 : tensor<?x64xf32>
  }
  lm.layer_kind @codes(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.rms_norm %x, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %1 = lm.linear %0, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    lm.return %1 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@rows, @columns, @codes], states = [[], [], []], weights = [[@n, @w], [@n, @w], [@n, @q4]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
}
