// Formats may differ: each projection is a separate segment. Head norms in between do not prevent the fusion.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-fuse-projections))' | FileCheck %s

// CHECK:      %[[P:.*]]:3 = lm.fused "projections" -> tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32> {
// CHECK:        lm.linear {{.*}} <64x64, q4_1>
// CHECK-NEXT:   lm.linear {{.*}} <32x64, q4_1>
// CHECK-NEXT:   lm.linear {{.*}} <32x64, q6_k>
// CHECK-NEXT:   lm.yield
// CHECK:      lm.rms_norm %[[P]]#0
// CHECK:      lm.rms_norm %[[P]]#1
// CHECK:      lm.kv_append %{{.*}}, %[[P]]#2

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %b: !lm.batch, %wq: !lm.weight<64x64, q4_1> {lm.role = "wq"}, %wk: !lm.weight<32x64, q4_1> {lm.role = "wk"}, %wv: !lm.weight<32x64, q6_k> {lm.role = "wv"}, %qnorm: !lm.weight<16, f32> {lm.role = "qnorm"}, %f: !lm.weight<8, f32> {lm.role = "f"}, %wo: !lm.weight<64x64, q4_1> {lm.role = "wo"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>) {
    %q = lm.linear %x, %wq : tensor<?x64xf32>, !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    %k = lm.linear %x, %wk : tensor<?x64xf32>, !lm.weight<32x64, q4_1> -> tensor<?x32xf32>
    %v = lm.linear %x, %wv : tensor<?x64xf32>, !lm.weight<32x64, q6_k> -> tensor<?x32xf32>
    %qn = lm.rms_norm %q, %qnorm {eps = 1.0e-6 : f32, heads = 4 : i64} : tensor<?x64xf32>, !lm.weight<16, f32>
    %kn = lm.rms_norm %k, %qnorm {eps = 1.0e-6 : f32, heads = 2 : i64} : tensor<?x32xf32>, !lm.weight<16, f32>
    %qr = lm.rope %qn, %f, %b {heads = 4 : i64, style = #lm.rope_style<half>} : tensor<?x64xf32>, !lm.weight<8, f32>
    %kr = lm.rope %kn, %f, %b {heads = 2 : i64, style = #lm.rope_style<half>} : tensor<?x32xf32>, !lm.weight<8, f32>
    %kv1 = lm.kv_append %kr, %v, %kv at %b : tensor<?x32xf32>, tensor<?x32xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
    %a = lm.attention %qr, %kv1, %b {heads = 4 : i64, scale = 0.25 : f32, window = 32 : i64} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>> -> tensor<?x64xf32>
    %o = lm.linear %a, %wo : tensor<?x64xf32>, !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    %y = lm.add %x, %o : tensor<?x64xf32>
    lm.return %y, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
  }
}
