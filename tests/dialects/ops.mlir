// Round trip: the printed IR parses to the same IR.
// RUN: ingot-opt %s | ingot-opt | FileCheck %s
// RUN: ingot-opt %s --mlir-print-op-generic | ingot-opt | FileCheck %s

// CHECK-LABEL: lm.model @tiny
// CHECK-SAME:    family = "llama"
lm.model @tiny attributes {family = "llama", vocab = 100 : i64, hidden = 64 : i64, max_positions = 128 : i64} {
  // CHECK: lm.weight @embd : !lm.weight<100x64, q8_0> {source = "token_embd.weight"}
  lm.weight @embd : !lm.weight<100x64, q8_0> {source = "token_embd.weight"}
  // CHECK: stored = #lm.format<bf16>
  lm.weight @norm : !lm.weight<64, f32> {source = "norm", stored = #lm.format<bf16>}
  // CHECK: values = array<f32: 1.000000e+00, 5.000000e-01>
  lm.weight @freqs : !lm.weight<2, f32> {values = array<f32: 1.0, 0.5>}
  lm.weight @wq : !lm.weight<64x64, q4_1> {source = "q"}
  // CHECK: lm.weight @wk : !lm.weight<32x64, q6_k> {source = #lm.rows<"qkv" from 16 [2 by 48, 16]>}
  lm.weight @wk : !lm.weight<32x64, q6_k> {source = #lm.rows<"qkv" from 16 [2 by 48, 16 by 1]>}
  // CHECK: lm.weight @expert : !lm.weight<40x64, q6_k> {source = #lm.rows<"experts" matrix 5 from 1 [40 by 2]>}
  lm.weight @expert : !lm.weight<40x64, q6_k> {source = #lm.rows<"experts" matrix 5 from 1 [40 by 2]>}
  // CHECK: lm.weight @folded : !lm.weight<40x64, f32> {source = #lm.rows<"q" columns by "n" plus 1.000000e+00 rows by "g" at -24>}
  lm.weight @folded : !lm.weight<40x64, f32> {source = #lm.rows<"q" columns by "n" plus 1.0 rows by "g" at -24>}
  // CHECK: lm.weight @across : !lm.weight<96x64, f32> {source = #lm.rows<"conv1d" transposed from 32 [96]>}
  lm.weight @across : !lm.weight<96x64, f32> {source = #lm.rows<"conv1d" transposed from 32 [96 by 1]>}
  // CHECK: lm.weight @joined : !lm.weight<96x64, q6_k> {source = #lm.rows<"a", "b\22" from 32>}
  lm.weight @joined : !lm.weight<96x64, q6_k> {source = #lm.rows<"a", "b\"" from 32>}
  lm.weight @bias : !lm.weight<64, f32> {source = "b"}
  lm.weight @sinks : !lm.weight<4, f32> {source = "sinks"}
  // CHECK: lm.weight @experts : !lm.weight<64x32x64, q6_k> {source = "experts"}
  lm.weight @experts : !lm.weight<64x32x64, q6_k> {source = "experts"}
  lm.weight @biases : !lm.weight<64x32x1, f32> {source = "biases"}
  lm.weight @orders : !lm.weight<4096, f32> {source = "orders"}
  lm.weight @row : !lm.weight<1x64, q6_k> {source = "row"}

  // CHECK: lm.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]>
  lm.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]>
  // CHECK: lm.state @kv.2 : #lm.paged<[k: 2x16, v: 2x16]> of "int8"
  lm.state @kv.2 : #lm.paged<[k: 2x16, v: 2x16]> of "int8"
  // CHECK: lm.state @conv.1 : #lm.fixed<[x: 2x64 x f32, s: 4x8 x f32]>
  lm.state @conv.1 : #lm.fixed<[x: 2x64xf32, s: 4x8 x f32]>

  // CHECK-LABEL: lm.layer_kind @local
  // CHECK-SAME:    !lm.weight<64, f32> {lm.role = "norm"}
  lm.layer_kind @local(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "norm"},
                       %wq: !lm.weight<64x64, q4_1> {lm.role = "attn_q"}, %wk: !lm.weight<32x64, q6_k> {lm.role = "attn_k"},
                       %bias: !lm.weight<64, f32> {lm.role = "attn_q_bias"}, %f: !lm.weight<2, f32> {lm.role = "rope"},
                       %sinks: !lm.weight<4, f32> {lm.role = "sinks"}, %experts: !lm.weight<64x32x64, q6_k> {lm.role = "experts"},
                       %biases: !lm.weight<64x32x1, f32> {lm.role = "biases"}, %row: !lm.weight<1x64, q6_k> {lm.role = "row"},
                       %orders: !lm.weight<4096, f32> {lm.role = "orders"})
      -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>) {
    // CHECK: lm.rms_norm %{{.*}}, %{{.*}} {eps = 9.99999974E-6 : f32}
    %0 = lm.rms_norm %x, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    // CHECK: lm.layer_norm %{{.*}}, %{{.*}}, %{{.*}} : !lm.weight<64, f32> {eps = 9.99999974E-6 : f32} : tensor<?x64xf32>, <64, f32>
    %ln = lm.layer_norm %0, %n, %bias : !lm.weight<64, f32> {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    // CHECK: lm.layer_norm %{{.*}}, %{{.*}} {eps
    %ln2 = lm.layer_norm %ln, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    // CHECK: lm.linear %{{.*}}, %{{.*}}, %{{.*}} : !lm.weight<64, f32> : tensor<?x64xf32>, <64x64, q4_1> -> tensor<?x64xf32>
    %q = lm.linear %0, %wq, %bias : !lm.weight<64, f32> : tensor<?x64xf32>, !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    // CHECK: %[[ROUNDED:.*]] = lm.cast %{{.*}} : tensor<?x64xf32> -> tensor<?x64xf32, "q8">
    %r = lm.cast %0 : tensor<?x64xf32> -> tensor<?x64xf32, "q8">
    // CHECK: lm.linear %[[ROUNDED]], %{{.*}} : tensor<?x64xf32, "q8">
    %k = lm.linear %r, %wk : tensor<?x64xf32, "q8">, !lm.weight<32x64, q6_k> -> tensor<?x32xf32>
    // CHECK: lm.rope {{.*}} style = #lm.rope_style<interleaved>
    %qr = lm.rope %q, %f, %b {heads = 4 : i64, style = #lm.rope_style<interleaved>} : tensor<?x64xf32>, !lm.weight<2, f32>
    // CHECK: lm.scale_by_position %{{.*}} {period = 16 : i64} : tensor<?x64xf32>, <2, f32>
    %qg = lm.scale_by_position %qr, %f, %b {period = 16 : i64} : tensor<?x64xf32>, !lm.weight<2, f32>
    // CHECK: lm.embed_positions %{{.*}} : <64x64, q4_1> -> tensor<?x64xf32>
    %p = lm.embed_positions %wq, %b : !lm.weight<64x64, q4_1> -> tensor<?x64xf32>
    // CHECK: lm.kv_append %{{.*}}, %{{.*}}, %{{.*}} at %{{.*}} : tensor<?x32xf32>, tensor<?x32xf32>, <#lm.paged<[k: 2x16, v: 2x16]>>
    %kv1 = lm.kv_append %k, %k, %kv at %b : tensor<?x32xf32>, tensor<?x32xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
    // CHECK: lm.attention %{{.*}}, %{{.*}}, %{{.*}} sinks %{{.*}} : !lm.weight<4, f32> {heads = 4 : i64
    %sunk = lm.attention %qr, %kv1, %b sinks %sinks : !lm.weight<4, f32> {heads = 4 : i64, scale = 0.25 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>> -> tensor<?x64xf32>
    // CHECK: %[[R:.*]] = lm.route %{{.*}} select %{{.*}} : !lm.weight<64, f32> {normalize = #lm.normalize<sum>, score = #lm.score<sigmoid>} : tensor<?x64xf32> -> <64, 8>
    %to = lm.route %q select %bias : !lm.weight<64, f32> {normalize = #lm.normalize<sum>, score = #lm.score<sigmoid>} : tensor<?x64xf32> -> !lm.routes<64, 8>
    // CHECK: lm.permute %{{.*}} by %{{.*}} : tensor<?x64xf32>, <64, f32>
    %sorted = lm.permute %q by %bias : tensor<?x64xf32>, !lm.weight<64, f32>
    // CHECK: lm.dispatch %{{.*}} to %[[R]] : tensor<?x64xf32>, <64, 8>
    %sent = lm.dispatch %q to %to : tensor<?x64xf32>, !lm.routes<64, 8>
    // CHECK: lm.permute %{{.*}} by %{{.*}} of %[[R]] : !lm.routes<64, 8> : tensor<?x64xf32>, <4096, f32>
    %ordered = lm.permute %sent by %orders of %to : !lm.routes<64, 8> : tensor<?x64xf32>, !lm.weight<4096, f32>
    // CHECK: lm.linear %{{.*}}, %{{.*}}, %{{.*}} : !lm.weight<64x32x1, f32> of %[[R]] : !lm.routes<64, 8> : tensor<?x64xf32>, <64x32x64, q6_k> -> tensor<?x32xf32>
    %gate = lm.linear %sent, %experts, %biases : !lm.weight<64x32x1, f32> of %to : !lm.routes<64, 8> : tensor<?x64xf32>, !lm.weight<64x32x64, q6_k> -> tensor<?x32xf32>
    // CHECK: lm.swiglu_oai %{{.*}}, %{{.*}} {alpha = 1.500000e+00 : f32, limit = 7.000000e+00 : f32} : tensor<?x32xf32>
    %unit = lm.swiglu_oai %gate, %gate {alpha = 1.5 : f32, limit = 7.0 : f32} : tensor<?x32xf32>
    // CHECK: lm.combine %{{.*}} by %[[R]] : tensor<?x32xf32>, <64, 8>
    %joined = lm.combine %unit by %to : tensor<?x32xf32>, !lm.routes<64, 8>
    // CHECK: lm.scale_rows %{{.*}}, %{{.*}} : tensor<?x32xf32>, tensor<?x1xf32>
    %one = lm.linear %r, %row : tensor<?x64xf32, "q8">, !lm.weight<1x64, q6_k> -> tensor<?x1xf32>
    %scaled = lm.scale_rows %joined, %one : tensor<?x32xf32>, tensor<?x1xf32>
    // CHECK: lm.attention {{.*}} window = 512 : i64
    %a = lm.attention %qr, %kv1, %b {heads = 4 : i64, scale = 0.25 : f32, window = 512 : i64} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>> -> tensor<?x64xf32>
    // CHECK: %[[F:.*]] = lm.fused "group" -> tensor<?x64xf32>
    %y = lm.fused "group" -> tensor<?x64xf32> {
      // CHECK: lm.activation silu
      %s = lm.activation silu %a : tensor<?x64xf32>
      %m = lm.mul %s, %a : tensor<?x64xf32>
      %t = lm.scale %m {factor = 0.5 : f32} : tensor<?x64xf32>
      // CHECK: lm.xielu %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xf32>, <64, f32>
      %xi = lm.xielu %t, %bias, %bias, %bias : tensor<?x64xf32>, !lm.weight<64, f32>
      %c = lm.softcap %t {cap = 30.0 : f32} : tensor<?x64xf32>
      // CHECK: lm.yield
      lm.yield %c : tensor<?x64xf32>
    }
    // CHECK: lm.add %{{.*}}, %[[F]]
    %z = lm.add %x, %y : tensor<?x64xf32>
    // CHECK: lm.return
    lm.return %z, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
  }
  // Two states of two kinds, and none.
  // CHECK: lm.state @kv.1
  // CHECK: lm.layer_kind @keeps(%{{.*}}: tensor<?x64xf32>, %{{.*}}: !lm.state<#lm.fixed<[x: 2x64 x f32, s: 4x8 x f32]>>, %{{.*}}: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %{{.*}}: !lm.batch)
  lm.state @kv.1 : #lm.paged<[k: 2x16, v: 2x16]>
  lm.layer_kind @keeps(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x64 x f32, s: 4x8 x f32]>>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %b: !lm.batch)
      -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32, s: 4x8 x f32]>>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>) {
    lm.return %x, %s, %kv : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32, s: 4x8 x f32]>>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
  }
  lm.layer_kind @forgets(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  // CHECK-LABEL: lm.entry @step
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x100xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<100x64, q8_0>
    // CHECK: lm.embed {{.*}}scale = 8.000000e+00
    %x = lm.embed %ids, %e {scale = 8.0 : f32} : tensor<?xi32>, !lm.weight<100x64, q8_0> -> tensor<?x64xf32>
    // CHECK: lm.layers %{{.*}}, %{{.*}}, %{{.*}} {kinds = [@local, @keeps, @forgets], states = {{\[\[}}@kv.0], [@conv.1, @kv.1], []],
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@local, @keeps, @forgets], states = [[@kv.0], [@conv.1, @kv.1], []], weights = [[@norm, @wq, @wk, @bias, @freqs, @sinks, @experts, @biases, @row, @orders], [], []]} : tensor<?x64xf32> -> tensor<?x64xf32>
    // CHECK: lm.select_rows
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<100x64, q8_0> -> tensor<?x100xf32>
    lm.return %l, %kv1 : tensor<?x100xf32>, !lm.states
  }
}

// CHECK-LABEL: kernel.func @gate_up_0
kernel.func @gate_up_0(%x: !kernel.activation<64, q8>, %g: !lm.weight<96x64, q4_0>, %u: !lm.weight<96x64, q4_0>, %y: !kernel.activation<96, q8>) {
  // CHECK: kernel.matmul {{.*}} weights({{.*}}) outs({{.*}}) attributes {{{.*}}gated
  kernel.matmul %x : !kernel.activation<64, q8> weights(%g, %u : !lm.weight<96x64, q4_0>, !lm.weight<96x64, q4_0>)
      outs(%y : !kernel.activation<96, q8>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated,
      schedule = #kernel.schedule<tiles = [3, 2, 1], block = 96, prefetch = 4096>} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %b : f32
    kernel.yield %0 : f32
  }
  kernel.return
}

// A projection with ops fused for steps of few tokens.
// CHECK-LABEL: kernel.func @few_0
// CHECK-SAME:    attributes {counts = #kernel.counts<2 to 4>}
kernel.func @few_0(%w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<64, f32>,
                   %kv: !kernel.kv_pool<1, 32, bf16>, %t: !kernel.activation<32, f32>) attributes {counts = #kernel.counts<2 to 4>} {
  // CHECK: %[[X:.+]] = kernel.rowwise ins(%{{.+}} : !kernel.activation<64, f32>) -> !kernel.fused<64, bf16> attributes {extent = #kernel.extent<tokens>} {
  %x = kernel.rowwise ins(%i : !kernel.activation<64, f32>) -> !kernel.fused<64, bf16> attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  }
  // CHECK: %[[F:.+]]:3 = kernel.matmul %[[X]] : !kernel.fused<64, bf16> weights({{.*}}) -> !kernel.fused<32, f32>, !kernel.fused<32, f32>, !kernel.fused<32, f32> attributes
  %q, %k, %v = kernel.matmul %x : !kernel.fused<64, bf16> weights(%w, %w, %w : !lm.weight<32x64, q4_0>, !lm.weight<32x64, q4_0>, !lm.weight<32x64, q4_0>)
      -> !kernel.fused<32, f32>, !kernel.fused<32, f32>, !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }, {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }, {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // CHECK: %[[R:.+]] = kernel.rope_append %[[F]]#0, %[[F]]#1, %[[F]]#2 table %{{.+}} into %{{.+}} : !kernel.fused<32, f32>, {{.*}} -> !kernel.fused<32, f32>
  %rotated = kernel.rope_append %q, %k, %v table %t : !kernel.activation<32, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>}
      : !kernel.fused<32, f32>, !kernel.fused<32, f32>, !kernel.fused<32, f32>, !kernel.kv_pool<1, 32, bf16> -> !kernel.fused<32, f32>
  // CHECK: kernel.store %[[R]] : <32, f32> into %{{.+}} : <32, f32>
  kernel.store %rotated : !kernel.fused<32, f32> into %y : !kernel.activation<32, f32>
  kernel.return
}

// CHECK-LABEL: kernel.func @head_0
// CHECK-SAME:    attributes {counts = #kernel.counts<33>}
kernel.func @head_0(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %k: !kernel.activation<1, key>) attributes {counts = #kernel.counts<33>} {
  // CHECK: %[[Y:.+]] = kernel.matmul {{.*}}weights({{[^)]*}}) -> !kernel.fused<32, f32> attributes
  %y = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // CHECK: kernel.argmax %[[Y]] : !kernel.fused<32, f32> keys %{{.+}} : <1, key>
  kernel.argmax %y : !kernel.fused<32, f32> keys %k : !kernel.activation<1, key>
  kernel.return
}

kernel.func @maxima(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %k: !kernel.activation<1, f32>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.store %f : !kernel.fused<32, f32> into %y : !kernel.activation<32, f32>
  // CHECK: kernel.panel_maxima %{{.+}} : <32, f32> into %{{.+}} : <1, f32>
  kernel.panel_maxima %f : !kernel.fused<32, f32> into %k : !kernel.activation<1, f32>
  kernel.return
}

// CHECK-LABEL: kernel.func @norm_0
kernel.func @norm_0(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  // CHECK: kernel.rowwise
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%v: f32, %g: f32):
    %sq = arith.mulf %v, %v : f32
    // CHECK: kernel.row_stat mean
    %m = kernel.row_stat mean %sq : f32
    %0 = arith.mulf %m, %g : f32
    kernel.yield %0 : f32
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @conv
kernel.func @conv(%x: !kernel.activation<64, f32>, %w: !lm.weight<192, f32>, %b: !lm.weight<64, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>>, %y: !kernel.activation<64, f32>) {
  // CHECK: kernel.causal_conv %{{.*}}, %{{.*}} bias %{{.*}} : !lm.weight<64, f32> over %{{.*}} : <64, f32>, <192, f32>, <#lm.fixed<[x: 2x64 x f32]>> outs(%{{.*}} : <64, f32>)
  kernel.causal_conv %x, %w bias %b : !lm.weight<64, f32> over %s : !kernel.activation<64, f32>, !lm.weight<192, f32>, !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>> outs(%y : !kernel.activation<64, f32>)
  kernel.return
}

// CHECK-LABEL: kernel.func @custom
kernel.func @custom(%x: !kernel.activation<64, f32>, %w: !lm.weight<192, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>>, %y: !kernel.activation<64, f32>) {
  // CHECK: kernel.custom "my.op" ins(%{{.*}}, %{{.*}} : !kernel.activation<64, f32>, !lm.weight<192, f32>) over %{{.*}} : !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>> outs(%{{.*}} : !kernel.activation<64, f32>) attributes {body = "its code", error = 5.000000e-01 : f64}
  kernel.custom "my.op" ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<192, f32>) over %s : !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>> outs(%y : !kernel.activation<64, f32>) attributes {body = "its code", error = 0.5 : f64} {
  ^bb0(%a: tensor<?x64xf32>, %c: !lm.weight<192, f32>, %before: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch):
    %r, %after = lm.causal_conv %a, %c over %before at %b : tensor<?x64xf32>, !lm.weight<192, f32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
    // CHECK: kernel.results %{{.*}}, %{{.*}} : tensor<?x64xf32>, !lm.state
    kernel.results %r, %after : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  kernel.return
}

// CHECK-LABEL: kernel.func @route_0
kernel.func @route_0(%x: !kernel.activation<8, f32>, %s: !lm.weight<8, f32>, %r: !kernel.routes<8, 2>) {
  // CHECK: kernel.route %{{.*}} : <8, f32> expert_scale %{{.*}} : !lm.weight<8, f32> outs(%{{.*}} : <8, 2>) {group_score = #lm.group_score<top2sum>
  kernel.route %x : !kernel.activation<8, f32> expert_scale %s : !lm.weight<8, f32> outs(%r : !kernel.routes<8, 2>) {score = #lm.score<softmax>, normalize = #lm.normalize<softmax>, groups = 2 : i64, used_groups = 1 : i64, group_score = #lm.group_score<top2sum>, norm_eps = 0.0 : f32, norm_floor = 0.0 : f32, scale = 1.0 : f32}
  kernel.return
}
// CHECK-LABEL: kernel.func @group_routes_0
kernel.func @group_routes_0(%r: !kernel.routes<8, 2>) {
  // CHECK: kernel.group_routes %{{.*}} : <8, 2>
  kernel.group_routes %r : !kernel.routes<8, 2>
  kernel.return
}
// CHECK-LABEL: kernel.func @experts_0
kernel.func @experts_0(%x: !kernel.activation<64, q8>, %w: !lm.weight<8x32x64, q4_0>, %b: !lm.weight<8x32x1, f32>, %y: !kernel.activation<32, f32>, %r: !kernel.routes<8, 2>) {
  // CHECK: kernel.matmul {{.*}} aux(%{{.*}} : !lm.weight<8x32x1, f32>) outs(%{{.*}} : !kernel.activation<32, f32>) of %{{.*}} : !kernel.routes<8, 2>
  kernel.matmul %x : !kernel.activation<64, q8> weights(%w : !lm.weight<8x32x64, q4_0>) aux(%b : !lm.weight<8x32x1, f32>) outs(%y : !kernel.activation<32, f32>) of %r : !kernel.routes<8, 2> attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    kernel.yield %s : f32
  }
  kernel.return
}
// CHECK-LABEL: kernel.func @combine_0
kernel.func @combine_0(%x: !kernel.activation<32, f32>, %r: !kernel.routes<8, 2>, %y: !kernel.activation<32, f32>) {
  // CHECK: kernel.combine %{{.*}} by %{{.*}} : <32, f32>, <8, 2> outs(%{{.*}} : <32, f32>)
  kernel.combine %x by %r : !kernel.activation<32, f32>, !kernel.routes<8, 2> outs(%y : !kernel.activation<32, f32>)
  kernel.return
}
// CHECK-LABEL: kernel.func @dispatch_0
kernel.func @dispatch_0(%x: !kernel.activation<32, f32>, %y: !kernel.activation<32, q8>, %r: !kernel.routes<8, 2>) {
  // CHECK: kernel.rowwise ins(%{{.*}}) outs(%{{.*}}) to %{{.*}} : !kernel.routes<8, 2> attributes {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64}
  kernel.rowwise ins(%x : !kernel.activation<32, f32>) outs(%y : !kernel.activation<32, q8>) to %r : !kernel.routes<8, 2> attributes {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
// CHECK-LABEL: kernel.func @permute_0
kernel.func @permute_0(%x: !kernel.activation<32, f32>, %y: !kernel.activation<32, q8>, %c: !lm.weight<32, f32>) {
  // CHECK: kernel.rowwise ins(%{{.*}}) outs(%{{.*}}) by %{{.*}} : !lm.weight<32, f32> attributes {extent = #kernel.extent<tokens>}
  kernel.rowwise ins(%x : !kernel.activation<32, f32>) outs(%y : !kernel.activation<32, q8>) by %c : !lm.weight<32, f32> attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
// CHECK-LABEL: kernel.func @permute_experts
kernel.func @permute_experts(%x: !kernel.activation<40, f32>, %y: !kernel.activation<40, q8>, %c: !lm.weight<512, f32>, %r: !kernel.routes<8, 2>) {
  // CHECK: kernel.rowwise ins(%{{.*}}) outs(%{{.*}}) to %{{.*}} : !kernel.routes<8, 2> by %{{.*}} : !lm.weight<512, f32> attributes {dispatched, extent = #kernel.extent<tokens>, rows_of_token = 2 : i64}
  kernel.rowwise ins(%x : !kernel.activation<40, f32>) outs(%y : !kernel.activation<40, q8>) to %r : !kernel.routes<8, 2> by %c : !lm.weight<512, f32> attributes {dispatched, extent = #kernel.extent<tokens>, rows_of_token = 2 : i64} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
// CHECK-LABEL: kernel.func @attention_0
kernel.func @attention_0(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<2, 16, bf16>, %y: !kernel.activation<64, f32>) {
  // CHECK: kernel.attention
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<2, 16, bf16> outs(%y : !kernel.activation<64, f32>) {heads = 4 : i64, scale = 0.25 : f32}
  kernel.return
}

// CHECK-LABEL: kernel.func @shared
kernel.func @shared(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<2, 16, bf16>, %y: !kernel.activation<64, bf16>, %w: !kernel.workspace<4096>) {
  // CHECK: kernel.attention {{.*}} outs(%{{.*}} : <64, bf16>) workspace %{{.*}} : !kernel.workspace<4096> {heads = 4
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<2, 16, bf16> outs(%y : !kernel.activation<64, bf16>) workspace %w : !kernel.workspace<4096> {heads = 4 : i64, scale = 0.25 : f32}
  kernel.return
}
// CHECK-LABEL: kernel.func @argmax
kernel.func @argmax(%l: !kernel.activation<100, f32>, %k: !kernel.activation<1, key>) {
  // CHECK: kernel.argmax %{{.*}} : !kernel.activation<100, f32> keys %{{.*}} : <1, key>
  kernel.argmax %l : !kernel.activation<100, f32> keys %k : !kernel.activation<1, key>
  kernel.return
}
// CHECK-LABEL: kernel.func @argmax_finish
kernel.func @argmax_finish(%k: !kernel.activation<1, key>, %i: !kernel.activation<1, i32>) {
  // CHECK: kernel.argmax_finish %{{.*}} : <1, key> outs(%{{.*}} : <1, i32>)
  kernel.argmax_finish %k : !kernel.activation<1, key> outs(%i : !kernel.activation<1, i32>)
  kernel.return
}
// CHECK-LABEL: kernel.func @draw_weigh
kernel.func @draw_weigh(%l: !kernel.activation<100, f32>, %k: !kernel.activation<1, key>, %s: !kernel.activation<128, bytes>) {
  // CHECK: kernel.draw_weigh %{{.*}}, %{{.*}} : <100, f32>, <1, key> sums %{{.*}} : <128, bytes>
  kernel.draw_weigh %l, %k : !kernel.activation<100, f32>, !kernel.activation<1, key> sums %s : !kernel.activation<128, bytes>
  kernel.return
}
// CHECK-LABEL: kernel.func @draw_ids
kernel.func @draw_ids(%l: !kernel.activation<100, f32>, %k: !kernel.activation<1, key>, %s: !kernel.activation<128, bytes>, %i: !kernel.activation<1, i32>) {
  // CHECK: kernel.draw_ids {{.*}} sums %{{.*}} : <128, bytes> outs(%{{.*}} : <1, i32>)
  kernel.draw_ids %l, %k : !kernel.activation<100, f32>, !kernel.activation<1, key> sums %s : !kernel.activation<128, bytes> outs(%i : !kernel.activation<1, i32>)
  kernel.return
}

// CHECK-LABEL: plan.program @tiny_plan
plan.program @tiny_plan attributes {family = "llama", vocab = 100 : i64, hidden = 64 : i64, max_positions = 128 : i64} {
  // CHECK: plan.weight @part : !lm.weight<2, f32> {source = #lm.rows<"norm" from 3 [2]>}
  plan.weight @part : !lm.weight<2, f32> {source = #lm.rows<"norm" from 3 [2]>}
  // CHECK: plan.weight @w : !lm.weight<64, f32> {source = "norm"}
  plan.weight @w : !lm.weight<64, f32> {source = "norm"}
  // CHECK: plan.buffer @x per_token 256 at 0 persistent
  plan.buffer @x per_token 256 at 0 persistent
  // CHECK: plan.buffer @y per_row 256
  plan.buffer @y per_row 256
  // CHECK: plan.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> of "bf16" window 0 bytes 4096
  plan.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> of "bf16" window 0 bytes 4096
  // CHECK: plan.state @conv.1 : #lm.fixed<[x: 2x64 x f32, s: 4x8 x f32]> bytes 640
  plan.state @conv.1 : #lm.fixed<[x: 2x64 x f32, s: 4x8 x f32]> bytes 640
  plan.section @s {
    // CHECK: plan.launch @norm_0 [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@y>]
    plan.launch @norm_0 [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@y>]
    // CHECK: plan.when [mode = greedy, tokens <= 8] {
    // CHECK-NEXT: } else {
    // CHECK-NEXT: plan.when [rows <= 32, tile_tokens <= 1] {
    // CHECK-NEXT: }
    plan.when [mode = greedy, tokens <= 8] {
    } else {
      plan.when [rows <= 32, tile_tokens <= 1] {
      }
    }
    // CHECK: plan.launch @attention_0 [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@y>] no_barrier
    plan.launch @attention_0 [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@y>] no_barrier
  }
  // CHECK: plan.buffer @work fixed 4096 persistent
  plan.buffer @work fixed 4096 persistent
  // CHECK: plan.section @cases {
  // CHECK-NEXT: plan.case when [mode = greedy] {
  // CHECK-NEXT: }
  // CHECK-NEXT: plan.case {
  // CHECK-NEXT: plan.launch @shared
  plan.section @cases {
    plan.case when [mode = greedy] {
    }
    plan.case {
      plan.launch @shared [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@y>, #plan.buffer<@work>]
    }
  }
  // CHECK: plan.entry @generate modes [logits, greedy] {
  plan.entry @generate modes [logits, greedy] {
    // CHECK-NEXT: plan.step @s layer 0 states [@kv.0] weights [@w]
    plan.step @s layer 0 states [@kv.0] weights [@w]
    // CHECK-NEXT: plan.step @cases states [@kv.0]
    plan.step @cases states [@kv.0]
    // CHECK-NEXT: plan.output logits f32 @y
    plan.output logits f32 @y
  }
}

// CHECK-LABEL: lm.layer_kind @kernels
lm.model @selected attributes {family = "llama", vocab = 100 : i64, hidden = 64 : i64, max_positions = 128 : i64} {
  lm.layer_kind @kernels(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    // CHECK: %[[Y:.*]] = kernel.dispatch "copy"(%arg0 : tensor<?x64xf32>) -> (tensor<?x64xf32>) as "copies" tied [-1] {
    %y = kernel.dispatch "copy"(%x : tensor<?x64xf32>) -> (tensor<?x64xf32>) as "copies" tied [-1] {
    ^bb0(%a: !kernel.activation<64, f32>, %c: !kernel.activation<64, f32>):
      kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%c : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
      ^bb0(%v: f32):
        kernel.yield %v : f32
      }
    }
    // CHECK: lm.return %[[Y]] :
    lm.return %y : tensor<?x64xf32>
  }
}

// CHECK-LABEL: plan.program @placed
plan.program @placed attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @rows per_token 256
  plan.section @s {
    // CHECK: plan.dispatch "copy" [#plan.buffer<@rows>, #plan.buffer<@rows>] {
    plan.dispatch "copy" [#plan.buffer<@rows>, #plan.buffer<@rows>] {
    ^bb0(%a: !kernel.activation<64, f32>, %c: !kernel.activation<64, f32>):
      kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%c : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
      ^bb0(%v: f32):
        kernel.yield %v : f32
      }
    }
  }
}
