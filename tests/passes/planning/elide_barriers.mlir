// b and c are both made from a, so no barrier separates them. d reads c, so one does. A section ends with a barrier.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan.program(plan-elide-barriers))' | FileCheck %s

// CHECK:      plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@b>] no_barrier
// CHECK-NEXT: plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@c>]{{$}}
// CHECK-NEXT: plan.launch @copy [#plan.buffer<@c>, #plan.buffer<@d>]{{$}}

kernel.func @copy(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @a per_token 256
  plan.buffer @b per_token 256
  plan.buffer @c per_token 256
  plan.buffer @d per_token 256
  plan.section @s {
    plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@b>]
    plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@c>]
    plan.launch @copy [#plan.buffer<@c>, #plan.buffer<@d>]
  }
}

// Each case is a separate list, which ends with a barrier: the second begins with no pending writes.
// CHECK-LABEL: plan.program @cases
// CHECK:       plan.case when [mode = greedy] {
// CHECK-NEXT:    plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@b>]{{$}}
// CHECK:       plan.case {
// CHECK-NEXT:    plan.launch @copy [#plan.buffer<@b>, #plan.buffer<@c>] no_barrier
// CHECK-NEXT:    plan.launch @copy [#plan.buffer<@b>, #plan.buffer<@d>]{{$}}
plan.program @cases attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @a per_token 256
  plan.buffer @b per_token 256
  plan.buffer @c per_token 256
  plan.buffer @d per_token 256
  plan.section @s {
    plan.case when [mode = greedy] {
      plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@b>]
    }
    plan.case {
      plan.launch @copy [#plan.buffer<@b>, #plan.buffer<@c>]
      plan.launch @copy [#plan.buffer<@b>, #plan.buffer<@d>]
    }
  }
}
