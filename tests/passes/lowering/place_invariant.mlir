// What reads only weights that all layers share is computed once a step, and no layer writes over it.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: ingot-opt %t.mlir --check-plan=against=%s -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same

// CHECK:       plan.buffer @positions per_token 256 persistent
// CHECK-NEXT:  plan.section @begin {
// CHECK-NEXT:    plan.launch @positions_0 [#plan.weight<@pos>, #plan.buffer<@positions>]
// CHECK:       plan.section @first {
// CHECK-NEXT:    plan.launch @add_0 [#plan.buffer<@x>, #plan.buffer<@positions>, #plan.buffer<@x>]
// CHECK-NEXT:  }
// CHECK:       plan.section @second {
// CHECK-NEXT:    plan.launch @linear_0 [#plan.buffer<@x>, {{.*}}, #plan.buffer<@[[L:linear.*]]>]
// CHECK-NEXT:    plan.launch @add_0 [#plan.buffer<@[[L]]>, #plan.buffer<@positions>, #plan.buffer<@{{(x|linear)}}>]

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @pos : !lm.weight<64x64, f16> {source = "pos"}
  lm.weight @w : !lm.weight<64x64, f16> {source = "w"}
  lm.layer_kind @first(%x: tensor<?x64xf32>, %b: !lm.batch, %t: !lm.weight<64x64, f16> {lm.role = "t"}) -> tensor<?x64xf32> {
    %p = lm.embed_positions %t, %b : !lm.weight<64x64, f16> -> tensor<?x64xf32>
    %y = lm.add %x, %p : tensor<?x64xf32>
    lm.return %y : tensor<?x64xf32>
  }
  lm.layer_kind @second(%x: tensor<?x64xf32>, %b: !lm.batch, %t: !lm.weight<64x64, f16> {lm.role = "t"}, %w: !lm.weight<64x64, f16> {lm.role = "w"}) -> tensor<?x64xf32> {
    %p = lm.embed_positions %t, %b : !lm.weight<64x64, f16> -> tensor<?x64xf32>
    %l = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, f16> -> tensor<?x64xf32>
    %y = lm.add %l, %p : tensor<?x64xf32>
    lm.return %y : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@first, @second, @first], states = [[], [], []], weights = [[@pos], [@pos, @w], [@pos]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
