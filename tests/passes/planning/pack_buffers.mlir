// Launches without a barrier between them overlap in time, so a, b and c are live at once. e is written later and may
// take the place of a. Unused buffers are removed, and each class has its own arena.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan.program(plan-pack-buffers))' | FileCheck %s

// CHECK:      lower_bound = array<i64: 768, 256, 0>
// CHECK-SAME: peak = array<i64: 768, 256, 0>
// CHECK-DAG:  plan.buffer @a per_token 256 at [[A:[0-9]+]]
// CHECK-DAG:  plan.buffer @b per_token 256 at
// CHECK-DAG:  plan.buffer @c per_token 256 at
// CHECK-DAG:  plan.buffer @d per_row 256 at 0
// CHECK-NOT:  @unused

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
  plan.buffer @e per_token 256
  plan.buffer @d per_row 256
  plan.buffer @unused per_token 1024
  plan.section @s {
    plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@b>] no_barrier
    plan.launch @copy [#plan.buffer<@b>, #plan.buffer<@c>]
    plan.launch @copy [#plan.buffer<@c>, #plan.buffer<@e>]
    plan.launch @copy [#plan.buffer<@e>, #plan.buffer<@d>]
  }
}

// Only one case of a section runs: b of one and c of the other are never live together. An output lives to the end of
// the step: no buffer may overlap d, although its last launch is in the first section.
// CHECK-LABEL: plan.program @cases
// CHECK-SAME:  lower_bound = array<i64: 512, 512, 0>
// CHECK-SAME:  peak = array<i64: 512, 512, 0>
// CHECK-DAG:   plan.buffer @b per_token 256 at [[AT:[0-9]+]]
// CHECK-DAG:   plan.buffer @c per_token 256 at [[AT]]
// CHECK-DAG:   plan.buffer @d per_row 256 at 0
// CHECK-DAG:   plan.buffer @e per_row 256 at 256
plan.program @cases attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @a per_token 256 persistent
  plan.buffer @b per_token 256
  plan.buffer @c per_token 256
  plan.buffer @d per_row 256
  plan.buffer @e per_row 256
  plan.section @first {
    plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@d>]
  }
  plan.section @second {
    plan.case when [mode = greedy] {
      plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@b>]
      plan.launch @copy [#plan.buffer<@b>, #plan.buffer<@a>]
    }
    plan.case {
      plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@c>]
      plan.launch @copy [#plan.buffer<@c>, #plan.buffer<@e>]
    }
  }
  plan.entry @generate modes [logits, greedy] {
    plan.step @first
    plan.step @second
    plan.output logits f32 @d
  }
}

// A buffer of several cases is live in each as long as that case needs it. b is live in the first case alone, so it can
// share memory with c. Another section must not read a buffer that only one of the cases writes.
// RUN: sed 's/@b>, #plan.buffer<@h>/@b>, #plan.buffer<@b>/' %s | not ingot-opt --pass-pipeline='builtin.module(plan.program(plan-pack-buffers))' 2>&1 | FileCheck %s --check-prefix=UNWRITTEN
// UNWRITTEN: 'plan.launch' op reads rows that neither this case nor every case of an earlier section has written
// CHECK-LABEL: plan.program @several
// CHECK-SAME:  lower_bound = array<i64: 768, 0, 0>
// CHECK-SAME:  peak = array<i64: 768, 0, 0>
plan.program @several attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @a per_token 256 persistent
  plan.buffer @b per_token 256
  plan.buffer @c per_token 256
  plan.buffer @h per_token 256
  plan.section @first {
    plan.case when [tokens <= 8] {
      plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@b>]
      plan.launch @copy [#plan.buffer<@b>, #plan.buffer<@h>]
    }
    plan.case {
      plan.launch @copy [#plan.buffer<@a>, #plan.buffer<@h>]
    }
  }
  plan.section @second {
    plan.launch @copy [#plan.buffer<@h>, #plan.buffer<@c>]
  }
}
