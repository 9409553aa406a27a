// Experts and a head with column orders: rows are dispatched in the order of each expert's columns, and the hidden
// state, which CPUs output, is the head's input before the permutation.
// DEFINE: %{model} = %S/Inputs/ordered.mlir
// RUN: ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,ingot-lower)' -o %t.cpu.mlir
// RUN: FileCheck %s --input-file=%t.cpu.mlir
// RUN: ingot-opt %t.cpu.mlir --check-plan=against=%{model} -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RUN: ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline,kernel-fold-argmax,kernel-append-epilogues,kernel-norm-prologues,plan-add-workspaces,plan-find-ids,plan-expand-cases,plan.program(plan-elide-barriers,plan-pack-buffers))' -o %t.cuda.mlir
// RUN: FileCheck %s --input-file=%t.cuda.mlir --check-prefix=CUDA
// RUN: ingot-opt %t.cuda.mlir --check-plan=against=%{model} -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: {{[0-9]+}} launches in modes logits, greedy

// CHECK:      kernel.func @permute_0(%[[X:.*]]: !kernel.activation<64, f32>, %[[Y:.*]]: !kernel.activation<64, q8>, %[[R:.*]]: !kernel.routes<6, 2>, %[[C:.*]]: !lm.weight<384, f32>)
// CHECK-NEXT:   kernel.rowwise ins(%[[X]] : !kernel.activation<64, f32>) outs(%[[Y]] : !kernel.activation<64, q8>) to %[[R]] : !kernel.routes<6, 2> by %[[C]] : !lm.weight<384, f32> attributes {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64}
// CHECK:      kernel.func @permute_1(
// CHECK-NEXT:   kernel.rowwise {{.*}} outs({{.*}} : !kernel.activation<32, q8>) to {{.*}} by {{.*}} : !lm.weight<192, f32> attributes {dispatched, extent = #kernel.extent<tokens>, rows_of_token = 2 : i64}
// CHECK:      kernel.func @permute_2(
// CHECK-NEXT:   kernel.rowwise {{.*}} outs({{.*}} : !kernel.activation<64, q8x2>) by {{.*}} : !lm.weight<64, f32> attributes {extent = #kernel.extent<rows>}
// CHECK:      plan.section @layer {
// CHECK:        plan.launch @group_routes_0
// CHECK-NEXT:   plan.launch @permute_0 [#plan.buffer<@norm_1>, #plan.buffer<@permuted>, #plan.buffer<@routes>, #plan.layer_weight<5>]
// CHECK-NEXT:   plan.launch @gate_up_0 [#plan.buffer<@permuted>,
// CHECK-NEXT:   plan.launch @permute_1 [#plan.buffer<@gate_up>, #plan.buffer<@permuted_1>, #plan.buffer<@routes>, #plan.layer_weight<6>]
// CHECK-NEXT:   plan.launch @linear_1
// CHECK:      plan.section @apart {
// CHECK:        plan.launch @permute_0 [#plan.buffer<@[[N:.*]]>, {{.*}}, #plan.buffer<@[[R:routes[^>]*]]>, #plan.layer_weight<5>]
// CHECK:        plan.launch @permute_0 [#plan.buffer<@[[N]]>, {{.*}}, #plan.buffer<@[[R]]>, #plan.layer_weight<7>]
// CHECK:        plan.output hidden f32 @select_norm

// CUDA:       kernel.func @permute_0({{.*}}, %{{.*}}: !kernel.activation<64, bf16>, %{{.*}}: !kernel.routes<6, 2>, {{.*}})
// CUDA:       kernel.func @permute_2(
// CUDA-NEXT:    kernel.rowwise {{.*}} outs({{.*}} : !kernel.activation<64, bf16>) by
// CUDA-NOT:     plan.output hidden
