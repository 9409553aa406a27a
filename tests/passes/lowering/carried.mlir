// The value that layers pass on has a separate buffer of its width, whatever its name (here a weight has the same name)
// and the model's hidden size. The input of the first layer is written there, whether it is the embedding or not.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels{kv=f32},kernel-place,plan-outline)' | FileCheck %s
// RUN: ingot-opt %s --ingot-lower | ingot-opt --check-plan=against=%s -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT

// CHECK:      plan.buffer @x_1 per_token 256 persistent
// CHECK:      plan.section @begin {
// CHECK-NEXT:   plan.launch @embed_0 [#plan.weight<@embd>, #plan.buffer<@embedded>]
// CHECK-NEXT:   plan.launch @norm_0 [#plan.buffer<@embedded>, #plan.weight<@x>, #plan.buffer<@x_1>]
// CHECK-NEXT: }
// CHECK:      plan.section @layer {
// CHECK-NEXT:   plan.launch @linear_0 [#plan.buffer<@x_1>, #plan.layer_weight<0>, #plan.buffer<@linear>]
// CHECK-NEXT:   plan.launch @copy_0 [#plan.buffer<@linear>, #plan.buffer<@x_1>]
// CHECK-NEXT: }
// CHECK:      plan.section @end {
// CHECK-NEXT:   plan.launch @select_rows_0 [#plan.buffer<@x_1>, #plan.buffer<@select_rows>]
// CHECK-NEXT:   plan.launch @linear_1 [#plan.buffer<@select_rows>, #plan.weight<@embd>, #plan.buffer<@linear_1>]
// CHECK:      plan.output logits f32 @linear_1
// CHECK-NEXT: plan.output hidden f32 @select_rows

// RIGHT: remark: computes the same: {{[0-9]+}} launches in modes logits

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 32 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @x : !lm.weight<64, f32> {source = "n"}
  lm.weight @w : !lm.weight<64x64, f16> {source = "w"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, f16> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, f16> -> tensor<?x64xf32>
    lm.return %0 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %n = lm.get_weight @x : !lm.weight<64, f32>
    %0 = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %1 = lm.rms_norm %0, %n {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %y, %kv1 = lm.layers %1, %kv, %b {kinds = [@layer], states = [[]], weights = [[@w]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
