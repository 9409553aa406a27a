// A layer of experts next to a shared one that all tokens use: router, routes and dispatch are separate launches; gate
// and up of all experts are one launch, whose rows are dispatched in the encoding that the projections read.
// DEFINE: %{model} = %S/../plan_interpreter/Inputs/experts.mlir
// RUN: ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels{precision=fast kv=f16},kernel-place,plan-outline)' -o %t.plan.mlir
// RUN: FileCheck %s --input-file=%t.plan.mlir

// The router is not rounded and does not read rounded rows; a launch of experts has one projection or one pair.
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
// The bytes per token of the routes, and two rows for each token.
// CHECK-DAG:   plan.buffer @routes per_token 128
// CHECK-DAG:   plan.buffer @[[DOWN]] per_token 512

// On GPUs as well, the router and the gate of the shared expert read the norm's f32 rows, and their weights are in
// panels. The shared expert and the experts read bf16.
// RUN: ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{precision=fast kv=bf16 device=cuda},kernel-place,plan-outline,kernel-choose-layouts{device=cuda})' | FileCheck %s --check-prefix=CUDA
// CUDA-LABEL: kernel.func @projections_0(%{{.*}}: !kernel.activation<64, f32>, %{{.*}}: !lm.weight<6x64, f32, panel32>, %{{.*}}: !lm.weight<1x64, bf16, panel32>,
// CUDA-NOT:     fast_float
// CUDA-LABEL: kernel.func @dispatch_0(
// CUDA:         kernel.rowwise ins(%{{.*}} : !kernel.activation<64, f32>) outs(%{{.*}} : !kernel.activation<64, bf16>) to
// CUDA-LABEL: kernel.func @gate_up_0(%{{.*}}: !kernel.activation<64, bf16>, %{{.*}}: !lm.weight<6x32x64, q4_0, frag16>,

// A router that is quantised in the checkpoint reads the same rows as all projections, and a remark reports it.
// RUN: sed 's/6x64, f32/6x64, q8_0/g' %{model} | ingot-opt --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{precision=fast kv=bf16 device=cuda},kernel-place,plan-outline,kernel-choose-layouts{device=cuda})' --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s --check-prefix=CODES
// CODES:      remark: [Missed] router | Category:fusion | {{.*}}Reason="its launch has quantised weights, which read rounded rows"
// CODES:      kernel.func @projections_{{.*}}(%{{.*}}: !kernel.activation<64, bf16>, {{.*}}!lm.weight<6x64, q8_0, frag16>

// The plan computes what the model does; a missing bias, expert matrix or barrier is found.
// RUN: ingot-opt %{model} --ingot-fuse -o %t.fused.mlir
// RUN: ingot-opt %t.fused.mlir --ingot-lower -o %t.lowered.mlir
// RUN: ingot-opt %t.lowered.mlir --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: 28 launches
// RUN: sed '/kernel.route /s/normalize<sum>/normalize<none>/' %t.lowered.mlir | not ingot-opt --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: error[E0883]: the plan's result differs from the model's
// RUN: sed 's/layer_weight<3>, #plan.layer_weight<4>/layer_weight<4>, #plan.layer_weight<3>/' %t.lowered.mlir | not ingot-opt --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// RUN: sed '/launch @group_routes_0/s/$/ no_barrier/' %t.lowered.mlir | not ingot-opt --check-plan=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER: error[E0881]: there is no barrier between @group_routes_0 of layer 0 and

// Experts with fp8 weights read fp8 rows if each has more than 64 rows on average: with 2 of 6 experts per token, that
// is at 193 tokens and more.
// RUN: sed 's/\(6x[0-9]*x[0-9]*\), q4_0/\1, fp8/g' %{model} | ingot-opt --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda fp8-rows=true}),lm-select-kernels{precision=fast kv=bf16 device=cuda},kernel-place,plan-outline,kernel-choose-layouts{device=cuda},kernel-fp8-cases)' | FileCheck %s --check-prefix=FP8
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

// With one expert per token there are as many rows as tokens, but in another order: no launch that gathers them may
// overwrite its input. Tested with and without a projection that all tokens use.
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
