// Columns of experts in another order. If all readers of dispatched rows use that order, the launch reads the rows of
// tokens (@alone), else the dispatched rows (@both); an order that all experts share needs no routes (@same).
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels{precision=fast kv=f16},kernel-place,plan-outline)' | FileCheck %s

// CHECK-DAG:   kernel.rowwise ins({{.*}}) outs(%{{.*}} : !kernel.activation<64, q8>) to {{.*}} by {{.*}} : !lm.weight<128, f32> attributes {extent = #kernel.extent<tokens>}
// CHECK-DAG:   kernel.rowwise ins({{.*}}) outs(%{{.*}} : !kernel.activation<64, q8>) to {{.*}} by {{.*}} : !lm.weight<128, f32> attributes {dispatched, extent = #kernel.extent<tokens>}
// CHECK-DAG:   kernel.rowwise ins({{.*}}) outs(%{{.*}} : !kernel.activation<64, q8>) to {{.*}} by {{.*}} : !lm.weight<64, f32> attributes {extent = #kernel.extent<tokens>}
// CHECK-LABEL: plan.section @alone {
// CHECK:         plan.launch @group_routes_0
// CHECK-NEXT:    plan.launch @permute_0 [#plan.buffer<@[[N:.*]]>, #plan.buffer<@{{.*}}>, #plan.buffer<@routes>, #plan.layer_weight<3>]
// CHECK-NEXT:    plan.launch @linear
// CHECK-LABEL: plan.section @both {
// CHECK:         plan.launch @dispatch_0
// CHECK-NEXT:    plan.launch @permute_1
// CHECK-LABEL: plan.section @same {
// CHECK:         plan.launch @group_routes_0
// CHECK-NEXT:    plan.launch @permute_2 [{{.*}}, #plan.buffer<@{{.*}}>, #plan.buffer<@routes{{.*}}>, #plan.layer_weight<3>]
// CHECK-NEXT:    plan.launch @linear

// Rows that are read after their dispatch keep their memory until then.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(ingot-fuse,lm-select-kernels{precision=exact kv=f32},kernel-place,plan-outline)' | FileCheck %s --check-prefix=LATE
// LATE-LABEL:  plan.section @late {
// LATE-NEXT:     plan.launch @norm_0 [{{.*}}, #plan.buffer<@[[N:norm.*]]>]
// LATE:          plan.launch @add{{.*}} [#plan.buffer<@[[N]]>, #plan.buffer<@x>, #plan.buffer<@add{{.*}}>]
// LATE:          plan.launch @permute_0 [#plan.buffer<@[[N]]>,

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<2x64x64, q4_0> {source = "w"}
  lm.weight @wide : !lm.weight<64x40, f16> {source = "wide"}
  lm.weight @router : !lm.weight<2x64, f32> {source = "router"}
  lm.weight @norm : !lm.weight<64, f32> {source = "norm"}
  lm.weight @orders : !lm.weight<128, f32> {source = "orders"}
  lm.weight @order : !lm.weight<64, f32> {source = "order"}
  lm.layer_kind @alone(%h: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %router: !lm.weight<2x64, f32> {lm.role = "router"}, %w: !lm.weight<2x64x64, q4_0> {lm.role = "w"}, %c: !lm.weight<128, f32> {lm.role = "c"}) -> tensor<?x64xf32> {
    %normed = lm.rms_norm %h, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %normed, %router : tensor<?x64xf32>, !lm.weight<2x64, f32> -> tensor<?x2xf32>
    %r = lm.route %scores : tensor<?x2xf32> -> !lm.routes<2, 1>
    %x = lm.dispatch %normed to %r : tensor<?x64xf32>, !lm.routes<2, 1>
    %sorted = lm.permute %x by %c of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<128, f32>
    %y = lm.linear %sorted, %w of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<2x64x64, q4_0> -> tensor<?x64xf32>
    %o = lm.combine %y by %r : tensor<?x64xf32>, !lm.routes<2, 1>
    lm.return %o : tensor<?x64xf32>
  }
  lm.layer_kind @both(%h: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %router: !lm.weight<2x64, f32> {lm.role = "router"}, %w: !lm.weight<2x64x64, q4_0> {lm.role = "w"}, %c: !lm.weight<128, f32> {lm.role = "c"}) -> tensor<?x64xf32> {
    %normed = lm.rms_norm %h, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %normed, %router : tensor<?x64xf32>, !lm.weight<2x64, f32> -> tensor<?x2xf32>
    %r = lm.route %scores : tensor<?x2xf32> -> !lm.routes<2, 1>
    %x = lm.dispatch %normed to %r : tensor<?x64xf32>, !lm.routes<2, 1>
    %sorted = lm.permute %x by %c of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<128, f32>
    %y = lm.linear %sorted, %w of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<2x64x64, q4_0> -> tensor<?x64xf32>
    %z = lm.linear %x, %w of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<2x64x64, q4_0> -> tensor<?x64xf32>
    %a = lm.add %y, %z : tensor<?x64xf32>
    %o = lm.combine %a by %r : tensor<?x64xf32>, !lm.routes<2, 1>
    lm.return %o : tensor<?x64xf32>
  }
  lm.layer_kind @same(%h: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %router: !lm.weight<2x64, f32> {lm.role = "router"}, %w: !lm.weight<2x64x64, q4_0> {lm.role = "w"}, %c: !lm.weight<64, f32> {lm.role = "c"}) -> tensor<?x64xf32> {
    %normed = lm.rms_norm %h, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %normed, %router : tensor<?x64xf32>, !lm.weight<2x64, f32> -> tensor<?x2xf32>
    %r = lm.route %scores : tensor<?x2xf32> -> !lm.routes<2, 1>
    %x = lm.dispatch %normed to %r : tensor<?x64xf32>, !lm.routes<2, 1>
    %sorted = lm.permute %x by %c : tensor<?x64xf32>, !lm.weight<64, f32>
    %y = lm.linear %sorted, %w of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<2x64x64, q4_0> -> tensor<?x64xf32>
    %o = lm.combine %y by %r : tensor<?x64xf32>, !lm.routes<2, 1>
    lm.return %o : tensor<?x64xf32>
  }
  lm.layer_kind @late(%h: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %router: !lm.weight<2x64, f32> {lm.role = "router"}, %w: !lm.weight<2x64x64, q4_0> {lm.role = "w"}, %c: !lm.weight<128, f32> {lm.role = "c"}, %e: !lm.weight<40x64, f16> {lm.role = "e"}, %u: !lm.weight<64x40, f16> {lm.role = "u"}) -> tensor<?x64xf32> {
    %normed = lm.rms_norm %h, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %normed, %router : tensor<?x64xf32>, !lm.weight<2x64, f32> -> tensor<?x2xf32>
    %r = lm.route %scores : tensor<?x2xf32> -> !lm.routes<2, 1>
    %x = lm.dispatch %normed to %r : tensor<?x64xf32>, !lm.routes<2, 1>
    %t = lm.add %normed, %h : tensor<?x64xf32>
    %p = lm.linear %t, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    %q = lm.linear %p, %u : tensor<?x40xf32>, !lm.weight<64x40, f16> -> tensor<?x64xf32>
    %sorted = lm.permute %x by %c of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<128, f32>
    %y = lm.linear %sorted, %w of %r : !lm.routes<2, 1> : tensor<?x64xf32>, !lm.weight<2x64x64, q4_0> -> tensor<?x64xf32>
    %o = lm.combine %y by %r : tensor<?x64xf32>, !lm.routes<2, 1>
    %s = lm.add %q, %o : tensor<?x64xf32>
    %f = lm.add %h, %s : tensor<?x64xf32>
    lm.return %f : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@alone, @both, @same, @late], states = [[], [], [], []], weights = [[@norm, @router, @w, @orders], [@norm, @router, @w, @orders], [@norm, @router, @w, @order], [@norm, @router, @w, @orders, @embd, @wide]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %s1 : tensor<?x40xf32>, !lm.states
  }
}
