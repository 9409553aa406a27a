// The gate of a pair, the projection to which the activation is applied, is its first weight, whatever the region's
// name and the order of its ops. Two projections without an activation keep their order.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' | FileCheck %s

// CHECK:      plan.section @pairs {
// CHECK-NEXT:   plan.launch @gate_up_0 [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.layer_weight<1>,
// The second region becomes the same kernel, so its launch has the name of the first.
// CHECK-NEXT:   plan.launch @gate_up_0 [#plan.buffer<@gate_up>, #plan.layer_weight<0>, #plan.layer_weight<1>,
// CHECK-NEXT:   plan.launch @unit_0 [#plan.buffer<@{{.*}}>, #plan.layer_weight<0>, #plan.layer_weight<1>,
// CHECK-NEXT:   plan.launch @product_0 [#plan.buffer<@{{.*}}>, #plan.layer_weight<1>, #plan.layer_weight<0>,

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @wg : !lm.weight<64x64, f32> {source = "wg"}
  lm.weight @wu : !lm.weight<64x64, f32> {source = "wu"}
  lm.layer_kind @pairs(%h: tensor<?x64xf32>, %b: !lm.batch, %wg: !lm.weight<64x64, f32> {lm.role = "wg"}, %wu: !lm.weight<64x64, f32> {lm.role = "wu"}) -> tensor<?x64xf32> {
    %0 = lm.fused "gate_up" -> tensor<?x64xf32> {
      %up = lm.linear %h, %wu : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %gate = lm.linear %h, %wg : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %active = lm.activation silu %gate : tensor<?x64xf32>
      %product = lm.mul %up, %active : tensor<?x64xf32>
      lm.yield %product : tensor<?x64xf32>
    }
    %1 = lm.fused "mine" -> tensor<?x64xf32> {
      %up = lm.linear %0, %wu : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %gate = lm.linear %0, %wg : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %active = lm.activation silu %gate : tensor<?x64xf32>
      %product = lm.mul %up, %active : tensor<?x64xf32>
      lm.yield %product : tensor<?x64xf32>
    }
    %2 = lm.fused "unit" -> tensor<?x64xf32> {
      %up = lm.linear %1, %wu : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %gate = lm.linear %1, %wg : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %unit = lm.swiglu_oai %gate, %up {alpha = 1.702 : f32, limit = 7.0 : f32} : tensor<?x64xf32>
      lm.yield %unit : tensor<?x64xf32>
    }
    %3 = lm.fused "product" -> tensor<?x64xf32> {
      %one = lm.linear %2, %wu : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %two = lm.linear %2, %wg : tensor<?x64xf32>, !lm.weight<64x64, f32> -> tensor<?x64xf32>
      %product = lm.mul %one, %two : tensor<?x64xf32>
      lm.yield %product : tensor<?x64xf32>
    }
    lm.return %3 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@pairs], states = [[]], weights = [[@wg, @wu]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
