// The head gets a buffer of keys that outlives the step; the entry names it.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-fold-argmax)' --split-input-file --remarks-filter=fusion --remark-policy=all 2>&1 | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-fold-argmax{device=cpu})' --split-input-file | FileCheck %s --check-prefix=MAXIMA

// On CPUs, greedy steps compute keys and write no logits; other steps also write the largest of each 32 values: a
// vocabulary of 32 has one panel.
// MAXIMA-LABEL: kernel.func @head(
// MAXIMA:         %[[F:.+]] = kernel.matmul {{.*}} -> !kernel.fused<32, f32> attributes
// MAXIMA:         kernel.store %[[F]] : <32, f32> into %{{[^ ]+}} : <32, f32>
// MAXIMA-NEXT:    kernel.panel_maxima %[[F]] : <32, f32> into %{{[^ ]+}} : <1, f32>
// MAXIMA-LABEL: kernel.func @head_keys(
// MAXIMA-SAME:    %{{[^:]+}}: !kernel.activation<64, bf16>, %{{[^:]+}}: !lm.weight<32x64, bf16>, %[[KEYS:[^:]+]]: !kernel.activation<1, key>) {
// MAXIMA:         %[[F:.+]] = kernel.matmul {{.*}} -> !kernel.fused<32, f32> attributes
// MAXIMA-NOT:     kernel.store
// MAXIMA:         kernel.argmax %[[F]] : !kernel.fused<32, f32> keys %[[KEYS]] : <1, key>
// MAXIMA:       plan.buffer @logit_maxima per_row 128 persistent
// MAXIMA:       plan.when [mode = greedy] {
// MAXIMA-NEXT:    plan.launch @head_keys [#plan.buffer<@n>, #plan.weight<@m>, #plan.buffer<@greedy_keys>]
// MAXIMA-NEXT:  } else {
// MAXIMA-NEXT:    plan.launch @head [#plan.buffer<@n>, #plan.weight<@m>, #plan.buffer<@y>, #plan.buffer<@logit_maxima>]
// MAXIMA:       plan.output maxima f32 @logit_maxima

// CHECK-DAG:   [Passed] head_argmax | Category:fusion | {{.*}}Remark="found by the head in steps of at most 32 rows"
// CHECK-DAG:   [Missed] head_argmax | Category:fusion | {{.*}}Reason="2 launches write the logits"
// CHECK-DAG:   [Missed] head_argmax | Category:fusion | {{.*}}Reason="the logits do not come from a single projection"
// CHECK-LABEL: kernel.func @head_keys(
// CHECK-SAME:    %[[KEYS:[^:]+]]: !kernel.activation<1, key>) {
// CHECK:         %[[F:.+]] = kernel.matmul {{.*}} -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>}
// CHECK:         kernel.store %[[F]] : <32, f32> into %{{[^ ]+}} : <32, f32>
// CHECK-NEXT:    kernel.argmax %[[F]] : !kernel.fused<32, f32> keys %[[KEYS]] : <1, key>
// CHECK:       plan.program @p attributes {
// CHECK:       plan.buffer @greedy_keys per_row 64 persistent
// CHECK:       plan.when [rows <= 32] {
// CHECK-NEXT:    plan.launch @head_keys [#plan.buffer<@n>, #plan.weight<@m>, #plan.buffer<@y>, #plan.buffer<@greedy_keys>]
// CHECK-NEXT:  } else {
// CHECK-NEXT:    plan.launch @head [#plan.buffer<@n>, #plan.weight<@m>, #plan.buffer<@y>]
// CHECK:       plan.entry @generate modes [logits, greedy] {
// CHECK:         plan.output logits f32 @y
// CHECK-NEXT:    plan.output keys key @greedy_keys
kernel.func @head(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, bf16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, bf16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 32 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<32x64, bf16>
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

// -----

// The largest logit is known only after the second launch.
// CHECK-NOT: greedy_keys
kernel.func @head(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, bf16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, bf16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @negate(%x: !kernel.activation<32, f32>, %y: !kernel.activation<32, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<32, f32>) outs(%y : !kernel.activation<32, f32>) attributes {extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    kernel.yield %b : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 32 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<32x64, bf16>
  plan.buffer @n per_row 128
  plan.buffer @y per_row 128
  plan.section @end {
    plan.launch @head [#plan.buffer<@n>, #plan.weight<@m>, #plan.buffer<@y>]
    plan.launch @negate [#plan.buffer<@y>, #plan.buffer<@y>]
  }
  plan.entry @generate modes [logits] {
    plan.step @end
    plan.output logits f32 @y
  }
}

// -----

kernel.func @negate(%x: !kernel.activation<32, f32>, %y: !kernel.activation<32, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<32, f32>) outs(%y : !kernel.activation<32, f32>) attributes {extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    kernel.yield %b : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 32 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @n per_row 128
  plan.buffer @y per_row 128
  plan.section @end {
    plan.launch @negate [#plan.buffer<@n>, #plan.buffer<@y>]
  }
  plan.entry @generate modes [logits] {
    plan.step @end
    plan.output logits f32 @y
  }
}
