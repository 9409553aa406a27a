// A layer of experts beside one that all tokens go to: what is chosen by, and where rows go, in launches of their own; gate and
// up of all experts in one launch, whose rows are brought there as the projections read them.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-forms),lm-lower-to-plan{precision=fast kv=f16})' -o %t.plan.mlir
// RUN: FileCheck %s --input-file=%t.plan.mlir

// The router is neither rounded nor reads rounded rows, and a launch of experts is one of one projection or of a pair.
// CHECK-LABEL: kernel.func @projections_0(%{{.*}}: !kernel.rows<64, f32>, %{{.*}}: !lm.weight<6x64, f32>, %{{.*}}: !lm.weight<1x64, bf16>,
// CHECK-NOT:     fast_float
// CHECK-LABEL: kernel.func @route_0(
// CHECK:         kernel.route %{{.*}} : <6, f32> select %{{.*}} : !lm.weight<6, f32> outs(%{{.*}} : <6, 2>) {{.*}}normalize = #lm.normalize<sum>{{.*}}score = #lm.score<sigmoid>
// CHECK-LABEL: kernel.func @dispatch_0(
// CHECK:         kernel.rowwise ins(%{{.*}} : !kernel.rows<64, f32>) outs(%{{.*}} : !kernel.rows<64, q8>) to %{{.*}} : !kernel.routes<6, 2> attributes {{.*}}rows_of_token = 2 : i64
// CHECK-LABEL: kernel.func @gate_up_0(
// CHECK:         kernel.matmul {{.*}} outs(%{{.*}} : !kernel.rows<32, q8>) of %{{.*}} : !kernel.routes<6, 2> attributes {{.*}}pair
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

// The plan computes what the model does; a bias, an expert's matrix or a barrier that is missed is found.
// RUN: ingot-opt %s --ingot-fuse -o %t.fused.mlir
// RUN: ingot-opt %t.fused.mlir --ingot-lower -o %t.lowered.mlir
// RUN: ingot-opt %t.lowered.mlir --slow-check=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: 28 launches
// RUN: sed '/kernel.route /s/normalize<sum>/normalize<none>/' %t.lowered.mlir | not ingot-opt --slow-check=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// WEIGHTS: error[E0883]: the plan computes something else than the model
// RUN: sed 's/layer_weight<3>, #plan.layer_weight<4>/layer_weight<4>, #plan.layer_weight<3>/' %t.lowered.mlir | not ingot-opt --slow-check=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// RUN: sed '/launch @group_routes_0/s/$/ no_barrier/' %t.lowered.mlir | not ingot-opt --slow-check=against=%t.fused.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER: error[E0881]: no barrier stands between @group_routes_0 of layer 0 and

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @norm : !lm.weight<64, f32> {source = "norm"}
  lm.weight @router : !lm.weight<6x64, f32> {source = "router"}
  lm.weight @chosen : !lm.weight<6, f32> {source = "chosen"}
  lm.weight @gate : !lm.weight<6x32x64, q4_0> {source = #lm.rows<"gate_up" matrix 0 [32], "gate_up" matrix 1 [32], "gate_up" matrix 2 [32], "gate_up" matrix 3 [32], "gate_up" matrix 4 [32], "gate_up" matrix 5 [32]>}
  lm.weight @up : !lm.weight<6x32x64, q4_0> {source = #lm.rows<"gate_up" matrix 0 from 32 [32], "gate_up" matrix 1 from 32 [32], "gate_up" matrix 2 from 32 [32], "gate_up" matrix 3 from 32 [32], "gate_up" matrix 4 from 32 [32], "gate_up" matrix 5 from 32 [32]>}
  lm.weight @down : !lm.weight<6x64x32, q4_0> {source = "down"}
  lm.weight @bias : !lm.weight<6x64x1, f32> {source = "bias"}
  lm.weight @shared : !lm.weight<64x64, q4_0> {source = "shared"}
  lm.weight @open : !lm.weight<1x64, f32> {source = "open"}
  lm.layer_kind @layer(%h: tensor<?x64xf32>, %b: !lm.batch, %norm: !lm.weight<64, f32> {lm.role = "norm"}, %router: !lm.weight<6x64, f32> {lm.role = "router"}, %chosen: !lm.weight<6, f32> {lm.role = "chosen"}, %gate: !lm.weight<6x32x64, q4_0> {lm.role = "gate"}, %up: !lm.weight<6x32x64, q4_0> {lm.role = "up"}, %down: !lm.weight<6x64x32, q4_0> {lm.role = "down"}, %bias: !lm.weight<6x64x1, f32> {lm.role = "bias"}, %shared: !lm.weight<64x64, q4_0> {lm.role = "shared"}, %open: !lm.weight<1x64, f32> {lm.role = "open"}) -> tensor<?x64xf32> {
    %n = lm.rms_norm %h, %norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %n, %router : tensor<?x64xf32>, !lm.weight<6x64, f32> -> tensor<?x6xf32>
    %r = lm.route %scores select %chosen : !lm.weight<6, f32> {score = #lm.score<sigmoid>, normalize = #lm.normalize<sum>} : tensor<?x6xf32> -> !lm.routes<6, 2>
    %x = lm.dispatch %n to %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %g = lm.linear %x, %gate of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %u = lm.linear %x, %up of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %a = lm.activation silu %g : tensor<?x32xf32>
    %gu = lm.mul %a, %u : tensor<?x32xf32>
    %d = lm.linear %gu, %down, %bias : !lm.weight<6x64x1, f32> of %r : !lm.routes<6, 2> : tensor<?x32xf32>, !lm.weight<6x64x32, q4_0> -> tensor<?x64xf32>
    %c = lm.combine %d by %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %s = lm.linear %n, %shared : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %o = lm.linear %n, %open : tensor<?x64xf32>, !lm.weight<1x64, f32> -> tensor<?x1xf32>
    %os = lm.activation sigmoid %o : tensor<?x1xf32>
    %part = lm.scale_rows %s, %os : tensor<?x64xf32>, tensor<?x1xf32>
    %f = lm.add %c, %part : tensor<?x64xf32>
    %h1 = lm.add %h, %f : tensor<?x64xf32>
    lm.return %h1 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@layer], states = [[]], weights = [[@norm, @router, @chosen, @gate, @up, @down, @bias, @shared, @open]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %t = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %t, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
