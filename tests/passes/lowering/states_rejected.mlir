// A state that its layer neither reads nor writes would waste memory.
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels,kernel-place,plan-outline)' 2>&1 | FileCheck %s

// CHECK: error: 'lm.state' op is kept, but its layer neither reads nor writes it

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.state @conv.0 : #lm.fixed<[x: 2x64 x f32]>
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>) {
    %0 = lm.add %x, %x : tensor<?x64xf32>
    lm.return %0, %s : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@layer], states = [[@conv.0]], weights = [[]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
