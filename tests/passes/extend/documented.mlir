// Each example of docs/patterns.md has the effect that the page describes.
// DEFINE: %{names} =
// DEFINE: %{example} = %python %S/Inputs/example.py %S/../../../docs/patterns.md %{names} > %t.pdll && ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%t.pdll}))'

// REDEFINE: %{names} = ScaledNorm ReadTwice
// RUN: %{example} --remarks-filter-missed=fusion --remark-policy=all 2>%t.remarks | FileCheck %s --check-prefix=NORM
// RUN: FileCheck %s --check-prefix=MISSED < %t.remarks
// MISSED:    remark: [Missed] scaled_norm | Category:fusion | Function=norms | Op=lm.scale, Reason="the norm has another use"
// NORM:      lm.layer_kind @norms
// NORM:      lm.fused "scaled_norm"
// NORM-NEXT:   lm.rms_norm
// NORM-NEXT:   lm.scale
// NORM-NEXT:   lm.yield
// NORM-NOT:  lm.fused

// REDEFINE: %{names} = ScaledResidual
// RUN: %python %S/Inputs/example.py %S/../../../docs/patterns.md %{names} > %t.pdll && ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-fuse-residual,lm-apply-patterns{patterns=%t.pdll}))' | FileCheck %s --check-prefix=RESIDUAL
// RESIDUAL:      lm.fused "scaled_residual" -> tensor<?x64xf32> {
// RESIDUAL-NEXT:   lm.linear
// RESIDUAL-NEXT:   lm.add
// RESIDUAL-NEXT:   lm.scale
// RESIDUAL-NEXT:   lm.yield
// RESIDUAL-NOT:  lm.fused
// RESIDUAL:      lm.layer_kind @caps

// REDEFINE: %{names} = SquareSoftcap
// RUN: %{example} | FileCheck %s --check-prefix=CAPPED
// CAPPED:      lm.layer_kind @caps
// CAPPED:      lm.fused "capped"
// CAPPED-NEXT:   lm.linear {{.*}}<64x64, q4_0>
// CAPPED-NEXT:   lm.softcap
// CAPPED-NOT:  lm.fused

// REDEFINE: %{names} = SumOfScales OneProjection
// RUN: %{example} 2>%t.warnings | FileCheck %s --check-prefix=SUM
// RUN: FileCheck %s --check-prefix=SOME < %t.warnings
// SUM:      lm.layer_kind @sums
// SUM-NEXT:   %[[X:.*]] = lm.scale %{{.*}} {factor = 5.000000e+00 : f32}
// SUM-NEXT:   %[[ROWS:.*]] = lm.add %{{.*}}, %[[X]]
// SUM-NEXT:   lm.linear %[[ROWS]], %{{.*}} : tensor<?x64xf32>, <64x64, q4_0> -> tensor<?x64xf32>
// SUM-NEXT:   lm.return
// SOME: warning: the patterns of {{.*}} match in @sums (2 layers), not in @norms (1 layer), @caps (1 layer), @folded (1 layer)

// REDEFINE: %{names} = Halves
// RUN: %{example} | FileCheck %s --check-prefix=HALVES
// HALVES-NOT: @q4 :
// HALVES:     lm.weight @q4.rows_0_32_and_q4.rows_32_32 : !lm.weight<64x64, q4_0> {lm.rows_of = {{\[\[}}"q4", 0, 32, 64], ["q4", 32, 32, 64{{\]\]}}, source = #lm.rows<"q4" [32], "q4" from 32 [32]>}
// HALVES:     lm.layer_kind @caps({{.*}}%[[W:[^ :]+]]: !lm.weight<64x64, q4_0> {lm.role = "q4.rows_0_32_and_q4.rows_32_32"})
// HALVES:       lm.linear %{{.*}}, %[[W]]
// HALVES:     weights = {{.*}}@q4.rows_0_32_and_q4.rows_32_32{{.*}}

// REDEFINE: %{names} = NormsIntoProjections
// RUN: %{example} | FileCheck %s --check-prefix=FOLDED
// FOLDED:      lm.weight @ones_64 : !lm.weight<64, f32> {values = array<f32: 1.0
// FOLDED:      lm.weight @f.columns_by.n : !lm.weight<64x64, f32> {{.*}}source = #lm.rows<"f" columns by "n">}
// FOLDED:      lm.layer_kind @folded({{.*}}%[[F:[^ :]+]]: !lm.weight<64x64, f32> {lm.role = "f.columns_by.n"}, %[[G:[^ :]+]]: !lm.weight<64x64, f32> {lm.role = "g.columns_by.n"}, %[[ONE:[^ :]+]]: !lm.weight<64, f32> {lm.role = "ones_64"})
// FOLDED:        %[[N:.*]] = lm.rms_norm %{{.*}}, %[[ONE]]
// FOLDED:        lm.linear %[[N]], %[[F]]
// FOLDED:        lm.linear %[[N]], %[[G]]

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @q4 : !lm.weight<64x64, q4_0> {source = "q4"}
  lm.weight @q8 : !lm.weight<64x64, q8_0> {source = "q8"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = "w"}
  lm.weight @n : !lm.weight<64, f32> {source = "n"}
  lm.weight @f : !lm.weight<64x64, bf16> {source = "f"}
  lm.weight @g : !lm.weight<64x64, f16> {source = "g"}
  lm.layer_kind @norms(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %w: !lm.weight<64x64, q8_0> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.rms_norm %x, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %1 = lm.scale %0 {factor = 3.0 : f32} : tensor<?x64xf32>
    %2 = lm.rms_norm %1, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %3 = lm.scale %2 {factor = 3.0 : f32} : tensor<?x64xf32>
    %4 = lm.mul %2, %3 : tensor<?x64xf32>
    %5 = lm.linear %4, %w : tensor<?x64xf32>, !lm.weight<64x64, q8_0> -> tensor<?x64xf32>
    %6 = lm.add %x, %5 : tensor<?x64xf32>
    %7 = lm.scale %6 {factor = 3.0 : f32} : tensor<?x64xf32>
    lm.return %7 : tensor<?x64xf32>
  }
  lm.layer_kind @caps(%x: tensor<?x64xf32>, %b: !lm.batch, %q4: !lm.weight<64x64, q4_0> {lm.role = "q4"}, %q8: !lm.weight<64x64, q8_0> {lm.role = "q8"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %q4 : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %1 = lm.softcap %0 {cap = 3.0 : f32} : tensor<?x64xf32>
    %2 = lm.linear %1, %q8 : tensor<?x64xf32>, !lm.weight<64x64, q8_0> -> tensor<?x64xf32>
    lm.return %2 : tensor<?x64xf32>
  }
  lm.layer_kind @sums(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.scale %x {factor = 3.0 : f32} : tensor<?x64xf32>
    %1 = lm.scale %x {factor = 2.0 : f32} : tensor<?x64xf32>
    %2 = lm.add %0, %1 : tensor<?x64xf32>
    %3 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %4 = lm.linear %2, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %5 = lm.add %3, %4 : tensor<?x64xf32>
    lm.return %5 : tensor<?x64xf32>
  }
  lm.layer_kind @folded(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %f: !lm.weight<64x64, bf16> {lm.role = "f"}, %g: !lm.weight<64x64, f16> {lm.role = "g"}) -> tensor<?x64xf32> {
    %0 = lm.rms_norm %x, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %1 = lm.linear %0, %f : tensor<?x64xf32>, !lm.weight<64x64, bf16> -> tensor<?x64xf32>
    %2 = lm.linear %0, %g : tensor<?x64xf32>, !lm.weight<64x64, f16> -> tensor<?x64xf32>
    %3 = lm.mul %1, %2 : tensor<?x64xf32>
    lm.return %3 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@norms, @caps, @sums, @sums, @folded], states = [[], [], [], [], []], weights = [[@n, @q8], [@q4, @q8], [@w], [@w], [@n, @f, @g]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
