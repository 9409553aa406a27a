// Layer norms of heads, each with its own weight: the kernel that rotates and appends subtracts the mean first.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-fuse-rope-append))' | FileCheck %s --check-prefix=FUSED
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' | FileCheck %s

// FUSED:      lm.fused "rope_append"
// FUSED-DAG:    lm.layer_norm {{.*}}heads = 4 : i64
// FUSED-DAG:    lm.layer_norm {{.*}}heads = 2 : i64
// FUSED:        lm.kv_append
// FUSED-NEXT:   lm.yield

// CHECK-LABEL: kernel.func @rope_append_0
// CHECK-NEXT:    kernel.rope_append {{.*}}q_norm %{{.+}} : !lm.weight<64, f32> k_norm %{{.+}} : !lm.weight<32, f32> into %{{.+}} {centred, eps = 9.99999997E-7 : f32, heads = 4 : i64
// CHECK-NOT:     norm_after

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @wq : !lm.weight<64x64, q4_1> {source = "wq"}
  lm.weight @wk : !lm.weight<32x64, q4_1> {source = "wk"}
  lm.weight @wv : !lm.weight<32x64, q6_k> {source = "wv"}
  lm.weight @qnorm : !lm.weight<64, f32> {source = "qnorm"}
  lm.weight @knorm : !lm.weight<32, f32> {source = "knorm"}
  lm.weight @f : !lm.weight<8, f32> {source = "f"}
  lm.weight @wo : !lm.weight<64x64, q4_1> {source = "wo"}
  lm.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]>
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %b: !lm.batch, %wq: !lm.weight<64x64, q4_1> {lm.role = "wq"}, %wk: !lm.weight<32x64, q4_1> {lm.role = "wk"}, %wv: !lm.weight<32x64, q6_k> {lm.role = "wv"}, %qnorm: !lm.weight<64, f32> {lm.role = "qnorm"}, %knorm: !lm.weight<32, f32> {lm.role = "knorm"}, %f: !lm.weight<8, f32> {lm.role = "f"}, %wo: !lm.weight<64x64, q4_1> {lm.role = "wo"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>) {
    %q = lm.linear %x, %wq : tensor<?x64xf32>, !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    %k = lm.linear %x, %wk : tensor<?x64xf32>, !lm.weight<32x64, q4_1> -> tensor<?x32xf32>
    %v = lm.linear %x, %wv : tensor<?x64xf32>, !lm.weight<32x64, q6_k> -> tensor<?x32xf32>
    %qn = lm.layer_norm %q, %qnorm {eps = 1.0e-6 : f32, heads = 4 : i64} : tensor<?x64xf32>, !lm.weight<64, f32>
    %kn = lm.layer_norm %k, %knorm {eps = 1.0e-6 : f32, heads = 2 : i64} : tensor<?x32xf32>, !lm.weight<32, f32>
    %qr = lm.rope %qn, %f, %b {heads = 4 : i64, style = #lm.rope_style<half>} : tensor<?x64xf32>, !lm.weight<8, f32>
    %kr = lm.rope %kn, %f, %b {heads = 2 : i64, style = #lm.rope_style<half>} : tensor<?x32xf32>, !lm.weight<8, f32>
    %kv1 = lm.kv_append %kr, %v, %kv at %b : tensor<?x32xf32>, tensor<?x32xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
    %a = lm.attention %qr, %kv1, %b {heads = 4 : i64, scale = 0.25 : f32, window = 32 : i64} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>> -> tensor<?x64xf32>
    %o = lm.linear %a, %wo : tensor<?x64xf32>, !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    %y = lm.add %x, %o : tensor<?x64xf32>
    lm.return %y, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[@kv.0]], weights = [[@wq, @wk, @wv, @qnorm, @knorm, @f, @wo]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
