// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-fuse-gate-up))' --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s

// CHECK: remark: [Missed] gate_up | Category:fusion | {{.*}}Reason="gate and up have weights of different types"
// CHECK-NOT: lm.fused

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %wg: !lm.weight<96x64, q4_0> {lm.role = "wg"}, %wu: !lm.weight<96x64, q8_0> {lm.role = "wu"}, %wd: !lm.weight<64x96, q4_0> {lm.role = "wd"}) -> tensor<?x64xf32> {
    %g = lm.linear %x, %wg : tensor<?x64xf32>, !lm.weight<96x64, q4_0> -> tensor<?x96xf32>
    %u = lm.linear %x, %wu : tensor<?x64xf32>, !lm.weight<96x64, q8_0> -> tensor<?x96xf32>
    %s = lm.activation silu %g : tensor<?x96xf32>
    %h = lm.mul %s, %u : tensor<?x96xf32>
    %d = lm.linear %h, %wd : tensor<?x96xf32>, !lm.weight<64x96, q4_0> -> tensor<?x64xf32>
    lm.return %d : tensor<?x64xf32>
  }
}
