// Examples of docs/patterns.md that query targets.
// DEFINE: %{names} =
// DEFINE: %{devices} =
// DEFINE: %{example} = %python %S/Inputs/example.py %S/../../../docs/patterns.md %{names} > %t.pdll && ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%t.pdll %{devices}}))' --remarks-filter=fusion --remark-policy=all

// CPUs have a kernel for a router followed by an op. GPUs have none, so with them the other pattern matches.
// REDEFINE: %{names} = RoutersAndProduct Routers
// REDEFINE: %{devices} = devices=cpu
// RUN: %{example} 2>%t.remarks | FileCheck %s --check-prefix=ALL
// RUN: FileCheck %s --check-prefix=SILENT --allow-empty < %t.remarks
// ALL:      lm.fused "routers_product" -> tensor<?x8xf32> {
// ALL-NEXT:   lm.linear
// ALL-NEXT:   lm.linear
// ALL-NEXT:   lm.mul
// ALL-NEXT:   lm.yield
// ALL:      lm.route
// SILENT-NOT: [Missed] routers_product
// REDEFINE: %{devices} = devices=cpu,cuda
// RUN: %{example} 2>%t.remarks | FileCheck %s --check-prefix=PART
// RUN: FileCheck %s --check-prefix=REASON < %t.remarks
// PART:      lm.fused "routers" -> tensor<?x8xf32>, tensor<?x8xf32> {
// PART-NEXT:   lm.linear
// PART-NEXT:   lm.linear
// PART-NEXT:   lm.yield
// PART:      lm.mul
// REASON: remark: [Missed] routers_product | Category:fusion | Function=routed | Op=lm.mul, Reason="no kernel of cuda: kernel.matmul expects f32 rows in memory, single weights and results in memory on GPUs"

// Without TargetCanFuse, Fuse itself queries the target, and nothing is fused. An unknown device is an error.
// RUN: %python %S/Inputs/example.py %S/../../../docs/patterns.md RoutersAndProduct Routers | sed '/TargetCanFuse/d' > %t.bold.pdll
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%t.bold.pdll devices=cuda}))' 2>&1 | FileCheck %s --check-prefix=BOLD
// BOLD-NOT: lm.fused
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-apply-patterns{patterns=%t.bold.pdll devices=gpu}))' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: for the --devices option: expects one of cpu cuda, got gpu

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.layer_kind @routed(%x: tensor<?x64xf32>, %b: !lm.batch, %one: !lm.weight<8x64, f32> {lm.role = "one"}, %two: !lm.weight<8x64, f32> {lm.role = "two"}, %down: !lm.weight<8x64x64, q4_0> {lm.role = "down"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %one : tensor<?x64xf32>, !lm.weight<8x64, f32> -> tensor<?x8xf32>
    %1 = lm.linear %x, %two : tensor<?x64xf32>, !lm.weight<8x64, f32> -> tensor<?x8xf32>
    %2 = lm.mul %0, %1 : tensor<?x8xf32>
    %r = lm.route %2 : tensor<?x8xf32> -> !lm.routes<8, 2>
    %d = lm.dispatch %x to %r : tensor<?x64xf32>, !lm.routes<8, 2>
    %y = lm.linear %d, %down of %r : !lm.routes<8, 2> : tensor<?x64xf32>, !lm.weight<8x64x64, q4_0> -> tensor<?x64xf32>
    %c = lm.combine %y by %r : tensor<?x64xf32>, !lm.routes<8, 2>
    lm.return %c : tensor<?x64xf32>
  }
}
