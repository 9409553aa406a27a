// Patterns that match nothing are reported; a file that cannot be used is an error of the pass.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%S/Inputs/twins.pdl.mlir}))' --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=/nonexistent.pdll}))' 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: remark: [Missed] patterns | Category:fusion | {{.*}}Reason="nothing matches the patterns of {{.*}}twins.pdl.mlir"
// CHECK: warning: nothing matches the patterns of {{.*}}twins.pdl.mlir
// NONE: error: cannot read the patterns /nonexistent.pdll: No such file or directory

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = "w"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %1 = lm.add %0, %x : tensor<?x64xf32>
    lm.return %1 : tensor<?x64xf32>
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
