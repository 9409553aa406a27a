// Each op, or fused region, becomes one kernel on values. Memory that a kernel updates is tied to a result.
// RUN: ingot-opt %S/../plan_interpreter/Inputs/model.mlir --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels{kv=f16})' | FileCheck %s

// CHECK-LABEL: lm.layer_kind @layer(%arg0: tensor<?x64xf32>, %arg1: !lm.state<
// CHECK-NEXT:    %[[TABLE:.*]] = kernel.dispatch "rope_table"(%arg7 : !lm.weight<16, f32>) -> (tensor<?x32xf32>) as "rope" tied [-1] {
// CHECK-NEXT:    ^bb0(%[[F:.*]]: !lm.weight<16, f32>, %[[T:.*]]: !kernel.activation<32, f32>):
// CHECK-NEXT:      kernel.rope_table %[[F]] : <16, f32> outs(%[[T]] : <32, f32>)
// CHECK:         %[[N:.*]] = kernel.dispatch "norm"(%arg0, %arg3 : tensor<?x64xf32>, !lm.weight<64, f32>) -> (tensor<?x64xf32, "q8">) as "norm" tied [-1] {
// CHECK:         %[[QKV:.*]]:3 = kernel.dispatch "projections"(%[[N]], %arg4, %arg5, %arg6 :
// CHECK-SAME:      -> (tensor<?x128xf32>, tensor<?x64xf32>, tensor<?x64xf32>) as "projections" tied [-1, -1, -1] {
// CHECK:         %[[ROPE:.*]]:2 = kernel.dispatch "rope_append"(%[[QKV]]#0, %[[QKV]]#1, %[[QKV]]#2, %[[TABLE]], %arg1 :
// CHECK-SAME:      as "rope_append" tied [4, 0] {
// CHECK:           kernel.rope_append {{.*}} <2, 32, f16>
// CHECK:         %[[A:.*]] = kernel.dispatch "attention"(%[[ROPE]]#1, %[[ROPE]]#0 :
// CHECK-SAME:      -> (tensor<?x128xf32, "q8">)
// CHECK:         %[[H:.*]] = kernel.dispatch "residual"(%[[A]], %arg8, %arg0 :
// CHECK:         lm.return %{{.*}}, %[[ROPE]]#0 :

// Only kernels are left, on the values that lm.layers passes on.
// CHECK-LABEL: lm.entry @step
// CHECK:         %[[X:.*]] = kernel.dispatch "embed"(
// CHECK:         lm.layers %[[X]],
// CHECK:         kernel.dispatch "select_norm"(%y,
// CHECK:         %[[L:.*]] = kernel.dispatch "linear"(
// CHECK:         lm.return %[[L]], %after
// CHECK-NOT:     {{ = lm\.(linear|rms_norm|add|fused)}}
