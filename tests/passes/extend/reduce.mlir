// ingot-reduce keeps what a script tests for, here a scale by 3, and removes the rest.
// RUN: ingot-reduce %s --reduction-tree='traversal-mode=0 test=%S/Inputs/has_scale.sh' | FileCheck %s

// CHECK:     lm.scale
// CHECK-NOT: lm.weight @unused

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @unused : !lm.weight<64x64, q4_0> {source = "unused"}
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %embd = lm.get_weight @embd : !lm.weight<40x64, f16>
    %0 = lm.embed %ids, %embd : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %1 = lm.scale %0 {factor = 3.0 : f32} : tensor<?x64xf32>
    %2 = lm.linear %1, %embd : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %2, %kv : tensor<?x40xf32>, !lm.states
  }
}
