// In fast precision, a whole layer has eight launches. The rows of one projection are int8, the residual is added in
// place, and the head's rows have two planes. In exact precision, rows are f32.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels{precision=fast kv=f16},kernel-place,plan-outline)' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' | FileCheck %s --check-prefix=EXACT

// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline)' | FileCheck %s --check-prefix=CUDA
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{device=cuda kv=f16},kernel-place,plan-outline)' 2>&1 | FileCheck %s --check-prefix=KV
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{device=cuda kv=fp8},kernel-place,plan-outline)' | FileCheck %s --check-prefix=KV8
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{kv=fp8},kernel-place,plan-outline)' 2>&1 | FileCheck %s --check-prefix=KV8-CPU

// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-quantize-weights{rules=w*:fp8}),ingot-fuse,lm.model(lm-choose-encodings{device=cuda fp8-rows=true}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline)' | FileCheck %s --check-prefix=FP8

// Projections with fp8 weights that may multiply in fp8 get their rows in two encodings: the fp8 rows are written once
// for all readers, in an earlier launch.
// FP8-LABEL:  kernel.func @projections_0
// FP8:          kernel.matmul {{.*}} fp8(
// FP8:        plan.section @layer {
// FP8-NEXT:     plan.launch @norm_0
// FP8-NEXT:     plan.launch @fp8_0 [#plan.buffer<@norm>, #plan.buffer<@e>]
// FP8-NEXT:     plan.launch @projections_0 {{.*}}#plan.buffer<@e>]
// FP8-COUNT-3:  plan.launch @fp8_
// FP8-NOT:      plan.launch @fp8_
// FP8:        plan.section @end {

// CHECK-LABEL: kernel.func @projections_0
// CHECK-SAME:    !kernel.activation<64, q8>
// CHECK:         kernel.matmul
// CHECK-LABEL: kernel.func @gate_up_0
// CHECK-SAME:    !kernel.activation<96, q8>
// CHECK:         kernel.matmul {{.*}} gated
// CHECK:         math.exp
// CHECK-LABEL: plan.program @m
// CHECK:       plan.section @begin {
// CHECK-NEXT:    plan.launch @rope_table_0 [#plan.weight<@f>, #plan.buffer<@rope>]
// CHECK-NEXT:    plan.launch @embed_0 [#plan.weight<@embd>, #plan.buffer<@x>]
// CHECK-NEXT:  }
// CHECK:       plan.section @layer {
// CHECK-NEXT:    plan.launch @norm_0 [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@norm>]
// CHECK-NEXT:    plan.launch @projections_0
// CHECK-NEXT:    plan.launch @rope_append_0 {{.*}}#plan.buffer<@rope>, #plan.layer_weight<4>, #plan.layer_weight<4>, #plan.state<0>]
// CHECK-NEXT:    plan.launch @attention_0
// CHECK-NEXT:    plan.launch @quantize_0
// CHECK-NEXT:    plan.launch @residual_0 {{.*}}#plan.buffer<@x>, #plan.buffer<@x>]
// CHECK-NEXT:    plan.launch @norm_0
// CHECK-NEXT:    plan.launch @gate_up_0
// CHECK-NEXT:    plan.launch @residual_1 {{.*}}#plan.buffer<@x>, #plan.buffer<@x>]
// CHECK-NEXT:  }
// CHECK:       plan.section @end {
// CHECK-NEXT:    plan.launch @select_rows_0
// CHECK-NEXT:    plan.launch @linear_0
// CHECK-NEXT:  }
// CHECK:       plan.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> of "f16" window 32 bytes 4096
// CHECK-NEXT:  plan.entry @generate modes [logits] {
// CHECK-NEXT:  plan.step @begin
// CHECK-NEXT:  plan.step @layer layer 0 states [@kv.0] weights [@n1, @wq,
// CHECK-NEXT:  plan.step @end
// CHECK-NEXT:  plan.output logits f32 @
// CHECK-NOT: lm.model

// On GPUs every projection reads bf16 rows, which their producers write: no launch converts.
// CUDA-LABEL:   kernel.func @norm_0
// CUDA-SAME:      !kernel.activation<64, bf16>
// CUDA-LABEL:   kernel.func @projections_0
// CUDA-SAME:      !kernel.activation<64, bf16>
// CUDA-LABEL:   kernel.func @attention_0
// CUDA-SAME:      !kernel.kv_pool<2, 16, bf16>, {{.*}}!kernel.activation<64, bf16>
// CUDA-LABEL:   kernel.func @gate_up_0
// CUDA-SAME:      !kernel.activation<96, bf16>
// CUDA-NOT:     q8
// CUDA:         plan.section @layer {
// CUDA-COUNT-8:   plan.launch
// CUDA-NEXT:    }
// CUDA:         plan.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> of "bf16" window 32 bytes 4096
// 2 * 2 heads * 32 positions * (16 codes + 4 bytes of scale)
// KV8: plan.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> of "fp8" window 32 bytes 2560
// KV8-CPU: error: expects kv f32, bf16, f16, int8 or int4 for cpu, got fp8
// KV: error: expects kv bf16 or fp8 for cuda, got f16

// EXACT-NOT: q8
// EXACT: plan.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> of "f32"

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @n1 : !lm.weight<64, f32> {source = "n1"}
  lm.weight @wq : !lm.weight<64x64, q4_1> {source = "wq"}
  lm.weight @wk : !lm.weight<32x64, q4_1> {source = "wk"}
  lm.weight @wv : !lm.weight<32x64, q6_k> {source = "wv"}
  lm.weight @qnorm : !lm.weight<16, f32> {source = "qnorm"}
  lm.weight @f : !lm.weight<8, f32> {source = "f"}
  lm.weight @wo : !lm.weight<64x64, q4_1> {source = "wo"}
  lm.weight @wg : !lm.weight<96x64, q4_0> {source = "wg"}
  lm.weight @wu : !lm.weight<96x64, q4_0> {source = "wu"}
  lm.weight @wd : !lm.weight<64x96, q4_0> {source = "wd"}
  lm.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]>
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %b: !lm.batch, %n1: !lm.weight<64, f32> {lm.role = "n1"}, %wq: !lm.weight<64x64, q4_1> {lm.role = "wq"}, %wk: !lm.weight<32x64, q4_1> {lm.role = "wk"}, %wv: !lm.weight<32x64, q6_k> {lm.role = "wv"}, %qnorm: !lm.weight<16, f32> {lm.role = "qnorm"}, %f: !lm.weight<8, f32> {lm.role = "f"}, %wo: !lm.weight<64x64, q4_1> {lm.role = "wo"}, %wg: !lm.weight<96x64, q4_0> {lm.role = "wg"}, %wu: !lm.weight<96x64, q4_0> {lm.role = "wu"}, %wd: !lm.weight<64x96, q4_0> {lm.role = "wd"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>) {
    %n0 = lm.rms_norm %x, %n1 {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %q = lm.linear %n0, %wq : tensor<?x64xf32>, !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    %k = lm.linear %n0, %wk : tensor<?x64xf32>, !lm.weight<32x64, q4_1> -> tensor<?x32xf32>
    %v = lm.linear %n0, %wv : tensor<?x64xf32>, !lm.weight<32x64, q6_k> -> tensor<?x32xf32>
    %qn = lm.rms_norm %q, %qnorm {eps = 1.0e-6 : f32, heads = 4 : i64} : tensor<?x64xf32>, !lm.weight<16, f32>
    %kn = lm.rms_norm %k, %qnorm {eps = 1.0e-6 : f32, heads = 2 : i64} : tensor<?x32xf32>, !lm.weight<16, f32>
    %qr = lm.rope %qn, %f, %b {heads = 4 : i64, style = #lm.rope_style<half>} : tensor<?x64xf32>, !lm.weight<8, f32>
    %kr = lm.rope %kn, %f, %b {heads = 2 : i64, style = #lm.rope_style<half>} : tensor<?x32xf32>, !lm.weight<8, f32>
    %kv1 = lm.kv_append %kr, %v, %kv at %b : tensor<?x32xf32>, tensor<?x32xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
    %a = lm.attention %qr, %kv1, %b {heads = 4 : i64, scale = 0.25 : f32, window = 32 : i64} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>> -> tensor<?x64xf32>
    %o = lm.linear %a, %wo : tensor<?x64xf32>, !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    %y = lm.add %x, %o : tensor<?x64xf32>
    %m = lm.rms_norm %y, %n1 {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %g = lm.linear %m, %wg : tensor<?x64xf32>, !lm.weight<96x64, q4_0> -> tensor<?x96xf32>
    %u = lm.linear %m, %wu : tensor<?x64xf32>, !lm.weight<96x64, q4_0> -> tensor<?x96xf32>
    %s = lm.activation silu %g : tensor<?x96xf32>
    %h = lm.mul %s, %u : tensor<?x96xf32>
    %d = lm.linear %h, %wd : tensor<?x96xf32>, !lm.weight<64x96, q4_0> -> tensor<?x64xf32>
    %z = lm.add %y, %d : tensor<?x64xf32>
    lm.return %z, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[@kv.0]], weights = [[@n1, @wq, @wk, @wv, @qnorm, @f, @wo, @wg, @wu, @wd]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
