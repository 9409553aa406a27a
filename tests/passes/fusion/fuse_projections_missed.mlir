// In fast precision a float weight reads f32 rows and a quantised one int8 rows: two launches.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-fuse-projections))' --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s

// CHECK: remark: [Missed] projections | Category:fusion | {{.*}}Reason="float and quantised weights read the same input in different encodings"
// CHECK-NOT: lm.fused

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}, %w2: !lm.weight<64x64, bf16> {lm.role = "w2"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %1 = lm.linear %x, %w2 : tensor<?x64xf32>, !lm.weight<64x64, bf16> -> tensor<?x64xf32>
    %2 = lm.mul %0, %1 : tensor<?x64xf32>
    lm.return %2 : tensor<?x64xf32>
  }
}
