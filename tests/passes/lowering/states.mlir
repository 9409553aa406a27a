// Layers have the states that they pass to their kind: one layer one, the other none. A kind may be named as a buffer.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels{kv=f32},kernel-place,plan-outline)' | FileCheck %s

// CHECK:       plan.section @norm {
// CHECK:       plan.buffer @norm_1
// CHECK:       plan.section @attention {
// CHECK:         plan.launch @rope_append_0 [{{.*}}#plan.state<0>]
// CHECK:         plan.launch @attention_0 [{{.*}}#plan.state<0>, #plan.buffer<@attention_1>]
// CHECK:       plan.state @kv.1 : #lm.paged<[k: 1x64, v: 1x64]> of "f32" window 8 bytes 16384
// CHECK-NOT:   plan.state
// CHECK:       plan.step @begin
// CHECK-NEXT:  plan.step @norm layer 0 weights [@n]
// CHECK-NEXT:  plan.step @attention layer 1 states [@kv.1] weights []
// CHECK-NEXT:  plan.step @end

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @n : !lm.weight<64, f32> {source = "n"}
  lm.state @kv.1 : #lm.paged<[k: 1x64, v: 1x64]>
  lm.layer_kind @norm(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    %0 = lm.rms_norm %x, %n {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %1 = lm.add %x, %0 : tensor<?x64xf32>
    lm.return %1 : tensor<?x64xf32>
  }
  lm.layer_kind @attention(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>) {
    %kv1 = lm.kv_append %x, %x, %kv at %b : tensor<?x64xf32>, tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
    %a = lm.attention %x, %kv1, %b {heads = 1 : i64, scale = 1.0 : f32, window = 8 : i64} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>> -> tensor<?x64xf32>
    lm.return %a, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@norm, @attention], states = [[], [@kv.1]], weights = [[@n], []]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
