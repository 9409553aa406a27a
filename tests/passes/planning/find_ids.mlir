// The section `ids` has a case for steps that need the largest logit's id and one for steps that sample; a step that
// returns logits runs nothing there. Buffers that outlive the step are persistent; no other per-row buffer shares their
// memory.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan-find-ids,plan-expand-cases)' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan-find-ids,plan-expand-cases)' | ingot-opt | FileCheck %s

// The head updates the keys of up to 32 rows, so argmax is left out of such steps. The buffer of keys is the head's.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-fold-argmax,plan-find-ids,plan-expand-cases)' | FileCheck %s --check-prefix=FOLDED
// FOLDED:     kernel.func @argmax({{.*}} attributes {counts = #kernel.counts<33>}
// FOLDED:     plan.buffer @greedy_keys
// FOLDED-NOT: plan.buffer @greedy_keys
// FOLDED:     plan.section @ids {
// FOLDED-NEXT:  plan.case when [mode = greedy, rows <= 32] {
// FOLDED-NEXT:    plan.launch @argmax_finish
// FOLDED:       plan.case when [mode = greedy] {
// FOLDED-NEXT:    plan.launch @argmax [
// FOLDED:       plan.case when [mode = drawn, rows <= 32] {
// FOLDED-NEXT:    plan.launch @draw_weigh
// FOLDED:       plan.case when [mode = drawn] {
// FOLDED-NEXT:    plan.launch @argmax [
// FOLDED:     plan.entry @generate modes [logits, greedy, drawn] {
// FOLDED:       plan.output logits f32 @y
// FOLDED-NEXT:  plan.output keys key @greedy_keys
// FOLDED-NEXT:  plan.output ids i32 @greedy_ids

// Barriers follow from the kernels' effects: each launch of a case reads what the previous one wrote. Logits live until
// ids are found, and to the end of the step if the host may read them: no buffer overlaps them. The counted launches of
// a step are those of the mode logits.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(plan-find-ids,plan-expand-cases,plan.program(plan-elide-barriers,plan-pack-buffers,plan-count-traffic))' | FileCheck %s --check-prefix=PLANNED --implicit-check-not=no_barrier
// PLANNED:      launches = 1 : i64, lower_bound = array<i64: 0, 12736, 0>
// PLANNED-SAME: peak = array<i64: 0, 12736, 0>
// PLANNED-DAG:  plan.buffer @draw_sums per_row 12352 at 0 persistent
// PLANNED-DAG:  plan.buffer @y per_row 128 at {{[0-9]+$}}

// CHECK-LABEL: kernel.func @argmax(%{{.*}}: !kernel.activation<32, f32>, %{{.*}}: !kernel.activation<1, key>) {
// CHECK-NEXT:    kernel.argmax %{{.*}} : !kernel.activation<32, f32> keys %{{.*}} : <1, key>{{$}}
// CHECK-LABEL: kernel.func @argmax_finish(
// CHECK-LABEL: kernel.func @draw_weigh(
// CHECK-SAME:    !kernel.activation<12352, bytes>
// CHECK-LABEL: kernel.func @draw_ids(
// CHECK-LABEL: plan.program @p
// CHECK-DAG:     plan.buffer @greedy_keys per_row 64 persistent
// CHECK-DAG:     plan.buffer @greedy_ids per_row 64 persistent
// CHECK-DAG:     plan.buffer @draw_sums per_row 12352 persistent
// CHECK:         plan.section @ids {
// CHECK-NEXT:      plan.case when [mode = greedy] {
// CHECK-NEXT:        plan.launch @argmax [#plan.buffer<@y>, #plan.buffer<@greedy_keys>]
// CHECK-NEXT:        plan.launch @argmax_finish [#plan.buffer<@greedy_keys>, #plan.buffer<@greedy_ids>]
// CHECK-NEXT:      }
// CHECK-NEXT:      plan.case when [mode = drawn] {
// CHECK-NEXT:        plan.launch @argmax [#plan.buffer<@y>, #plan.buffer<@greedy_keys>]
// CHECK-NEXT:        plan.launch @draw_weigh [#plan.buffer<@y>, #plan.buffer<@greedy_keys>, #plan.buffer<@draw_sums>]
// CHECK-NEXT:        plan.launch @draw_ids [#plan.buffer<@y>, #plan.buffer<@greedy_keys>, #plan.buffer<@draw_sums>, #plan.buffer<@greedy_ids>]
// CHECK-NEXT:      }
// CHECK-NEXT:      plan.case {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    plan.entry @generate modes [logits, greedy, drawn] {
// CHECK-NEXT:      plan.step @end
// CHECK-NEXT:      plan.step @ids
// CHECK-NEXT:      plan.output logits f32 @y
// CHECK-NEXT:      plan.output ids i32 @greedy_ids
// CHECK-NEXT:    }
kernel.func @head(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, bf16, frag16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, bf16, frag16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 32 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<32x64, bf16, frag16>
  plan.buffer @n per_row 128
  plan.buffer @y per_row 128
  plan.section @end {
    plan.launch @head [#plan.buffer<@n>, #plan.weight<@m>, #plan.buffer<@y>]
  }
  plan.entry @generate modes [logits] {
    plan.step @end
    plan.output logits f32 @y
  }
}
