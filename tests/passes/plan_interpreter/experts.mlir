// Experts on GPUs: rows of experts, rounded to bf16 when they are dispatched, in all modes.
// DEFINE: %{model} = %S/Inputs/experts.mlir
// RUN: ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline,kernel-fold-argmax,kernel-append-epilogues,kernel-norm-prologues,plan-add-workspaces,plan-find-ids,plan-expand-cases,plan.program(plan-elide-barriers,plan-pack-buffers))' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: ingot-opt %t.mlir --check-plan=against=%{model} -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: {{[0-9]+}} launches in modes logits, greedy, drawn

// CHECK:      kernel.func @dispatch_0(%{{.*}}: !kernel.activation<64, f32>, %{{.*}}: !kernel.activation<64, bf16>, %{{.*}}: !kernel.routes<6, 2>) {
// CHECK:      kernel.func @gate_up_0(%{{.*}}: !kernel.activation<64, bf16>, %{{.*}}: !lm.weight<6x32x64, q4_0>, %{{.*}}: !lm.weight<6x32x64, q4_0>, %{{.*}}: !kernel.activation<32, bf16>, %{{.*}}: !kernel.routes<6, 2>) {
