// Launches that a file of patterns merges into one: the example of docs/patterns.md, applied to the IR of
// norm_prologues.mlir.
// DEFINE: %{example} = %python %S/Inputs/example.py %S/../../../docs/patterns.md FewNorms
// DEFINE: %{apply} = ingot-opt %s --remarks-filter=fusion --remark-policy=all --pass-pipeline
// RUN: %{example} > %t.pdll
// RUN: %{apply}='builtin.module(kernel-apply-patterns{patterns=%t.pdll device=cuda})' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// REMARK: [Passed] few_norms | Category:fusion | {{.*}}Remark="computed by 2 projections in steps of at most 2"
// CHECK-LABEL: kernel.func @q_norm(
// CHECK-NEXT:    kernel.rowwise {{.*}} -> !kernel.fused<64, bf16>
// CHECK:       plan.section @layer {
// CHECK-NEXT:    plan.when [tokens <= 2] {
// CHECK-NEXT:      plan.launch @q_norm
// CHECK-NEXT:      plan.launch @pair_norm
// CHECK-NEXT:    } else {
// CHECK-NEXT:      plan.launch @norm
// CHECK-NEXT:      plan.launch @q
// CHECK-NEXT:      plan.launch @pair
// CHECK-NEXT:    }
// The section @plain has only one consumer, so it does not match.
// CHECK:       plan.section @plain {
// CHECK-NEXT:    plan.launch @norm

// A norm that was merged for some token count is not merged again for the same count or fewer tokens.
// RUN: %{apply}='builtin.module(kernel-norm-prologues,kernel-apply-patterns{patterns=%t.pdll device=cuda})' 2>%t.once | FileCheck %s --check-prefix=ONCE
// RUN: FileCheck %s --check-prefix=NOTHING < %t.once
// ONCE:     plan.when [tokens <= 4] {
// ONCE-NOT: plan.when
// NOTHING: warning: nothing matches the patterns of

// CPUs have no such kernels, without a device none are known, and the buffers of a planned program have fixed places.
// RUN: %{apply}='builtin.module(kernel-apply-patterns{patterns=%t.pdll device=cpu})' 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: [Missed] few_norms {{.*}}Reason="a consumer of its rows expects its activations to be in memory on CPUs"
// CPU-NOT: plan.when
// RUN: %{apply}='builtin.module(kernel-apply-patterns{patterns=%t.pdll})' 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: [Missed] few_norms {{.*}}Reason="no device is given: device=cuda"
// RUN: sed 's/@n per_token 128/@n per_token 128 at 0/' %s > %t.planned.mlir && ingot-opt %t.planned.mlir --remarks-filter=fusion --remark-policy=all --pass-pipeline='builtin.module(kernel-apply-patterns{patterns=%t.pdll device=cuda})' 2>&1 | FileCheck %s --check-prefix=PLANNED
// PLANNED: [Missed] few_norms {{.*}}Reason="the program is already planned: launches are composed at the point pre-plan"

// Launches that are not norms, and a step of no tokens.
// RUN: sed -e 's/kernel.rowwise/kernel.matmul/;/ProducesRows/d;/ProducesWidth/d;/HasConsumers/d;/CanFuse/d' %t.pdll > %t.other.pdll
// RUN: %{apply}='builtin.module(kernel-apply-patterns{patterns=%t.other.pdll device=cuda})' 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: [Missed] few_norms {{.*}}Reason="its anchor is not kernel.rowwise, the only kernel that can be fused into its consumers"
// RUN: sed -e 's/attr<"2">); };/attr<"0">); };/' %t.pdll > %t.zero.pdll
// RUN: %{apply}='builtin.module(kernel-apply-patterns{patterns=%t.zero.pdll device=cuda})' 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: [Missed] few_norms {{.*}}Reason="steps have at least one token

kernel.func @norm(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, bf16>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, bf16>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %a : f32
    %m = kernel.row_stat mean %s : f32
    %i = math.rsqrt %m : f32
    %u = arith.mulf %a, %i : f32
    %v = arith.mulf %u, %b : f32
    kernel.yield %v : f32
  }
  kernel.return
}
kernel.func @q(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, bf16, frag16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, bf16, frag16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @pair(%x: !kernel.activation<64, bf16>, %w0: !lm.weight<32x64, bf16, frag16>, %w1: !lm.weight<32x64, bf16, frag16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w0, %w1 : !lm.weight<32x64, bf16, frag16>, !lm.weight<32x64, bf16, frag16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %p = arith.mulf %g, %u : f32
    kernel.yield %p : f32
  }
  kernel.return
}
kernel.func @widen(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, bf16, frag16>, %r: !kernel.activation<32, f32>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, bf16, frag16>) aux(%r : !kernel.activation<32, f32>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32, %a: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 32 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32>
  plan.weight @m : !lm.weight<32x64, bf16, frag16>
  plan.buffer @x per_token 256 persistent
  plan.buffer @n per_token 128
  plan.buffer @y per_token 128
  plan.buffer @z per_token 128
  plan.section @layer {
    plan.launch @norm [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@n>]
    plan.launch @q [#plan.buffer<@n>, #plan.layer_weight<1>, #plan.buffer<@y>]
    plan.launch @pair [#plan.buffer<@n>, #plan.layer_weight<2>, #plan.layer_weight<3>, #plan.buffer<@z>]
  }
  plan.section @plain {
    plan.launch @norm [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@n>]
    plan.launch @widen [#plan.buffer<@n>, #plan.layer_weight<1>, #plan.buffer<@z>, #plan.buffer<@y>]
  }
  plan.entry @generate modes [logits] {
    plan.step @layer weights [@w, @m, @m, @m]
    plan.step @plain weights [@w, @m]
  }
}
