// Kernels that need a workspace get it as their last operand, and the program has one buffer for all, as large as the
// largest. Launches that share it are separated by barriers, whatever else they touch.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan-add-workspaces,plan.program(plan-elide-barriers,plan-pack-buffers))' | FileCheck %s

// CHECK-LABEL: kernel.func @large(
// CHECK-SAME:    %[[W:[^:]+]]: !kernel.workspace<2166784>) {
// CHECK:         kernel.attention {{.*}} workspace %[[W]] : !kernel.workspace<2166784> {heads = 2 : i64
// CHECK-LABEL: kernel.func @small(
// CHECK-SAME:    !kernel.workspace<1118208>) {
// CHECK-LABEL: kernel.func @near(
// CHECK-NOT:     workspace
// CHECK-LABEL: plan.program @p
// CHECK-SAME:    peak = array<i64: {{[0-9]+}}, 0, 2166784>
// CHECK:         plan.buffer @workspace fixed 2166784 at 0 persistent
// CHECK:         plan.launch @large [#plan.buffer<@q>, #plan.state<0>, #plan.buffer<@a>, #plan.buffer<@workspace>]{{$}}
// CHECK-NEXT:    plan.launch @small [#plan.buffer<@q>, #plan.state<0>, #plan.buffer<@b>, #plan.buffer<@workspace>] no_barrier
// CHECK-NEXT:    plan.launch @near [#plan.buffer<@q>, #plan.state<0>, #plan.buffer<@c>]{{$}}
kernel.func @large(%q: !kernel.activation<128, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<128, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<128, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<128, bf16>) {heads = 2 : i64, scale = 1.0 : f32}
  kernel.return
}
kernel.func @small(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, bf16>) {heads = 1 : i64, scale = 1.0 : f32}
  kernel.return
}
// One block processes a window of two runs, so this kernel needs no workspace.
kernel.func @near(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, bf16>) {heads = 1 : i64, scale = 1.0 : f32, window = 512 : i64}
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 32 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @q per_token 512
  plan.buffer @a per_token 256
  plan.buffer @b per_token 128
  plan.buffer @c per_token 128
  plan.section @s {
    plan.launch @large [#plan.buffer<@q>, #plan.state<0>, #plan.buffer<@a>]
    plan.launch @small [#plan.buffer<@q>, #plan.state<0>, #plan.buffer<@b>]
    plan.launch @near [#plan.buffer<@q>, #plan.state<0>, #plan.buffer<@c>]
  }
}
