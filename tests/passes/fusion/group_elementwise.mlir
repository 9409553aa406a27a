// A diamond of elementwise ops after a projection joins it; an op whose value is used outside does not.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-group-elementwise))' | FileCheck %s

// CHECK:      %[[G:.*]] = lm.fused "group" -> tensor<?x64xf32> {
// CHECK-DAG:    lm.linear
// CHECK-DAG:    lm.scale
// CHECK-DAG:    lm.activation
// CHECK-DAG:    lm.mul
// CHECK:        lm.yield
// CHECK:      %[[K:.*]] = lm.kv_append %[[G]]
// CHECK:      lm.attention
// CHECK-NOT:  lm.fused

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>, %b: !lm.batch, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>) {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %1 = lm.scale %0 {factor = 0.5 : f32} : tensor<?x64xf32>
    %2 = lm.activation gelu %0 : tensor<?x64xf32>
    %3 = lm.mul %1, %2 : tensor<?x64xf32>
    %kv1 = lm.kv_append %3, %3, %kv at %b : tensor<?x64xf32>, tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
    %a = lm.attention %3, %kv1, %b {heads = 1 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>> -> tensor<?x64xf32>
    lm.return %a, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
  }
}
