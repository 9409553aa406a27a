// A value lies over an operand that nothing reads later, if the kernel permits it; otherwise in a buffer of its own.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels{precision=exact kv=f32},kernel-place)' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels{precision=exact kv=f32},kernel-place{in-place=false})' | FileCheck %s --check-prefix=APART
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' | FileCheck %s --check-prefix=OUTLINE

// A sum lies over one of its operands; the last operand is tried first. A projection reads whole rows, so its result
// has a buffer of its own. So has the scaled input of the layer, because the input itself is read again.
// CHECK-LABEL: plan.section @layer {
// CHECK:         plan.dispatch "scale" [#plan.buffer<@x>, #plan.buffer<@[[S:scale.*]]>] {
// CHECK:         plan.dispatch "add" [#plan.buffer<@[[S]]>, #plan.buffer<@x>, #plan.buffer<@[[S]]>] {
// CHECK:         plan.dispatch "linear" [#plan.buffer<@[[S]]>, #plan.layer_weight<0>, #plan.buffer<@[[L:linear.*]]>] {
// CHECK:         plan.dispatch "add" [#plan.buffer<@[[L]]>, #plan.buffer<@x>, #plan.buffer<@x>] {
// CHECK-NOT:     "copy"
// CHECK:       plan.buffer @[[S]] per_token 256{{$}}

// APART-LABEL: plan.section @layer {
// APART:         plan.dispatch "scale" [#plan.buffer<@x>, #plan.buffer<@scale
// APART:         plan.dispatch "add" [#plan.buffer<@{{scale.*}}>, #plan.buffer<@x>, #plan.buffer<@[[A:add.*]]>] {
// APART:         plan.dispatch "linear" [#plan.buffer<@[[A]]>, #plan.layer_weight<0>, #plan.buffer<@[[L:linear.*]]>] {
// APART:         plan.dispatch "add" [#plan.buffer<@[[L]]>, #plan.buffer<@x>, #plan.buffer<@[[B:add.*]]>] {
// APART:         plan.dispatch "copy" [#plan.buffer<@[[B]]>, #plan.buffer<@x>] {

// Dispatches whose kernels are the same share one.
// OUTLINE:       kernel.func @add_0(%arg0: !kernel.activation<64, f32>, %arg1: !kernel.activation<64, f32>, %arg2: !kernel.activation<64, f32>) {
// OUTLINE-NOT:   kernel.func @add_1
// OUTLINE:       plan.launch @add_0
// OUTLINE:       plan.launch @add_0

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, f16> {source = "w"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, f16> {lm.role = "w"}) -> tensor<?x64xf32> {
    %s = lm.scale %x {factor = 2.0 : f32} : tensor<?x64xf32>
    %a = lm.add %s, %x : tensor<?x64xf32>
    %l = lm.linear %a, %w : tensor<?x64xf32>, !lm.weight<64x64, f16> -> tensor<?x64xf32>
    %y = lm.add %l, %x : tensor<?x64xf32>
    lm.return %y : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[]], weights = [[@w]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
