// A layer of experts beside one that all tokens go to: what is chosen by, and where rows go, in launches of their own; gate and
// up of all experts in one launch, whose rows are brought there as the projections read them.
// DEFINE: %{model} = %S/../plan_interpreter/Inputs/experts.mlir
// RUN: ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-lower-to-plan{precision=fast kv=f16})' -o %t.plan.mlir
// RUN: FileCheck %s --input-file=%t.plan.mlir

// The router is neither rounded nor reads rounded rows, and a launch of experts is one of one projection or of a pair.
// CHECK-LABEL: kernel.func @projections_0(%{{.*}}: !kernel.activation<64, f32>, %{{.*}}: !lm.weight<6x64, f32>, %{{.*}}: !lm.weight<1x64, bf16>,
// CHECK-NOT:     fast_float
// CHECK-LABEL: kernel.func @route_0(
// CHECK:         kernel.route %{{.*}} : <6, f32> select %{{.*}} : !lm.weight<6, f32> outs(%{{.*}} : <6, 2>) {{.*}}normalize = #lm.normalize<sum>{{.*}}score = #lm.score<sigmoid>
// CHECK-LABEL: kernel.func @dispatch_0(
// CHECK:         kernel.rowwise ins(%{{.*}} : !kernel.activation<64, f32>) outs(%{{.*}} : !kernel.activation<64, q8>) to %{{.*}} : !kernel.routes<6, 2> attributes {{.*}}rows_of_token = 2 : i64
// CHECK-LABEL: kernel.func @gate_up_0(
// CHECK:         kernel.matmul {{.*}} outs(%{{.*}} : !kernel.activation<32, q8>) of %{{.*}} : !kernel.routes<6, 2> attributes {{.*}}gated
// CHECK-LABEL: kernel.func @linear_1(
// CHECK:         aux(%{{.*}} : !lm.weight<6x64x1, f32>) {{.*}} of %{{.*}} : !kernel.routes<6, 2>
// CHECK:       plan.section @layer {
// CHECK:         plan.launch @route_0 [#plan.buffer<@[[SCORES:.*]]>, #plan.layer_weight<2>, #plan.buffer<@routes>]
// CHECK-NEXT:    plan.launch @group_routes_0 [#plan.buffer<@routes>]
// CHECK-NEXT:    plan.launch @dispatch_0 [#plan.buffer<@norm_1>, #plan.buffer<@dispatch>, #plan.buffer<@routes>]
// CHECK-NEXT:    plan.launch @gate_up_0 [#plan.buffer<@dispatch>, {{.*}}, #plan.buffer<@gate_up>, #plan.buffer<@routes>]
// CHECK-NEXT:    plan.launch @linear_1 [#plan.buffer<@gate_up>, {{.*}}, #plan.buffer<@[[DOWN:.*]]>, #plan.buffer<@routes>]
// CHECK-NEXT:    plan.launch @combine_0 [#plan.buffer<@[[DOWN]]>, #plan.buffer<@routes>, #plan.buffer<@combined>]
// CHECK-NEXT:    plan.launch @group_0
// A token's share of the routes, and two rows for each token.
// CHECK-DAG:   plan.buffer @routes per_token 128
// CHECK-DAG:   plan.buffer @[[DOWN]] per_token 512

// On GPUs too: the router and what is open to all tokens read the norm's f32 rows, and their weights lie in panels. What all
// tokens are multiplied by, and experts, read bf16.
// RUN: ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-lower-to-plan{precision=fast kv=bf16 device=cuda},kernel-choose-layouts{device=cuda})' | FileCheck %s --check-prefix=CUDA
// CUDA-LABEL: kernel.func @projections_0(%{{.*}}: !kernel.activation<64, f32>, %{{.*}}: !lm.weight<6x64, f32, panel32>, %{{.*}}: !lm.weight<1x64, bf16, panel32>,
// CUDA-NOT:     fast_float
// CUDA-LABEL: kernel.func @dispatch_0(
// CUDA:         kernel.rowwise ins(%{{.*}} : !kernel.activation<64, f32>) outs(%{{.*}} : !kernel.activation<64, bf16>) to
// CUDA-LABEL: kernel.func @gate_up_0(%{{.*}}: !kernel.activation<64, bf16>, %{{.*}}: !lm.weight<6x32x64, q4_0, frag16>,

// One that the checkpoint has in codes reads what all projections do, and that is said.
// RUN: sed 's/6x64, f32/6x64, q8_0/g' %{model} | ingot-opt --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-lower-to-plan{precision=fast kv=bf16 device=cuda},kernel-choose-layouts{device=cuda})' --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s --check-prefix=CODES
// CODES:      remark: [Missed] router | Category:fusion | {{.*}}Reason="its launch has quantised weights, which read rounded rows"
// CODES:      kernel.func @projections_{{.*}}(%{{.*}}: !kernel.activation<64, bf16>, {{.*}}!lm.weight<6x64, q8_0, frag16>

// The plan computes what the model does; a bias, an expert's matrix or a barrier that is missed is found.
// RUN: ingot-opt %{model} --ingot-fuse -o %t.fused.mlir
// RUN: ingot-opt %t.fused.mlir --ingot-lower -o %t.lowered.mlir
// RUN: ingot-opt %t.lowered.mlir --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: 28 launches
// RUN: sed '/kernel.route /s/normalize<sum>/normalize<none>/' %t.lowered.mlir | not ingot-opt --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: error[E0883]: the plan's result differs from the model's
// RUN: sed 's/layer_weight<3>, #plan.layer_weight<4>/layer_weight<4>, #plan.layer_weight<3>/' %t.lowered.mlir | not ingot-opt --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// RUN: sed '/launch @group_routes_0/s/$/ no_barrier/' %t.lowered.mlir | not ingot-opt --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER: error[E0881]: there is no barrier between @group_routes_0 of layer 0 and

// Experts of fp8 weights read rows of fp8 where each has more than 64 on average: of 6 a token meets 2, so that is from 193
// tokens on.
// RUN: sed 's/\(6x[0-9]*x[0-9]*\), q4_0/\1, fp8/g' %{model} | ingot-opt --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda fp8-rows=true}),lm-lower-to-plan{precision=fast kv=bf16 device=cuda},kernel-choose-layouts{device=cuda},kernel-fp8-cases)' | FileCheck %s --check-prefix=FP8
// FP8-LABEL: kernel.func @fp8_0(
// FP8:         kernel.fp8_rows %{{.*}} : <64, bf16> outs(%{{.*}} : <64, fp8>) {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64}
// FP8-LABEL: kernel.func @gate_up_0(
// FP8:         kernel.matmul {{.*}} fp8(%{{.*}} : !kernel.activation<64, fp8>) of %{{.*}} : !kernel.routes<6, 2>
// FP8:         plan.launch @dispatch_0
// FP8-NEXT:    plan.when [tokens <= 192] {
// FP8-NEXT:      plan.launch @gate_up_0_bf16
// FP8-NEXT:    } else {
// FP8-NEXT:      plan.launch @fp8_0 [#plan.buffer<@dispatch>, #plan.buffer<@[[E:.*]]>]
// FP8-NEXT:      plan.launch @gate_up_0 [#plan.buffer<@dispatch>, {{.*}}, #plan.buffer<@[[E]]>, #plan.buffer<@routes>]
// FP8:         plan.when [tokens <= 192] {
// FP8-NEXT:      plan.launch @linear_1_bf16

// Of one expert a token there are as many rows as tokens, but in another order: no launch that gathers them writes over its
// input. Beside a projection that all tokens go to, and alone.
// DEFINE: %{one} = sed -e 's/routes<6, 2>/routes<6, 1>/g; s/q4_0/f32/g; s/q8_0/f32/g'
// DEFINE: %{alone} = sed -e '/ \(.s\|.o\|.os\|.part\) = /d; s/lm.add \(.c\), .part/lm.add \1, \1/'
// RUN: %{one} %{model} | ingot-opt --ingot-fuse -o %t.one.mlir
// RUN: ingot-opt %t.one.mlir --ingot-lower -o %t.one.lowered.mlir
// RUN: FileCheck %s --input-file=%t.one.lowered.mlir --check-prefix=ONE
// ONE: plan.launch @dispatch_0 [#plan.buffer<@[[FROM:.*]]>, #plan.buffer<@dispatch{{.*}}>, #plan.buffer<@routes>]
// RUN: ingot-opt %t.one.lowered.mlir --check-plan=against=%t.one.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: remark: computes the same: {{[0-9]+}} launches
// RUN: %{one} %{model} | %{alone} | ingot-opt --ingot-fuse -o %t.alone.mlir
// RUN: ingot-opt %t.alone.mlir --ingot-lower -o %t.alone.lowered.mlir
// RUN: ingot-opt %t.alone.lowered.mlir --check-plan=against=%t.alone.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAME
