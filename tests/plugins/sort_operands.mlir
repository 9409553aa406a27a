// Runs the sample plugin's pass in ingot-opt, with its remark. Also tests a file that is not a plugin, and a pass that
// the plugin does not have.
// RUN: ingot-opt %s --load-pass-plugin=%sample_plugin --pass-pipeline='builtin.module(lm.model(sample-sort-operands))' | FileCheck %s
// RUN: ingot-opt %s --load-pass-plugin=%sample_plugin --pass-pipeline='builtin.module(lm.model(sample-sort-operands))' --remarks-filter-passed=fusion --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not ingot-opt %s --load-pass-plugin=%sample_plugin --pass-pipeline='builtin.module(lm.model(sample-sort))' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: ingot-opt %s --load-pass-plugin=%s 2>&1 | FileCheck %s --check-prefix=PLUGIN

// CHECK-LABEL: lm.layer_kind @layer(%{{[^:]*}}: tensor<?x64xf32>
// CHECK:      %[[W:.*]] = lm.linear %[[X:[a-z0-9]+]],
// CHECK-NEXT: %[[A:.*]] = lm.add %[[X]], %[[W]] :
// CHECK-NEXT: %[[M:.*]] = lm.mul %[[W]], %[[A]] :
// CHECK-NEXT: lm.add %[[A]], %[[M]] :

// REMARK-COUNT-2: remark: [Passed] sort_operands | Category:fusion | {{.*}}the earlier operand comes first
// NAME: 'sample-sort' does not refer to a registered pass
// PLUGIN: Failed to load passes from

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = "w"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %1 = lm.add %0, %x : tensor<?x64xf32>
    %2 = lm.mul %1, %0 : tensor<?x64xf32>
    %3 = lm.add %1, %2 : tensor<?x64xf32>
    lm.return %3 : tensor<?x64xf32>
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
