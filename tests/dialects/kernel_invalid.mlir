// Each constraint of SPEC.md is broken once.
// RUN: ingot-opt %s -split-input-file -verify-diagnostics

// func_c1
// expected-error @+1 {{expects one op that is neither producer nor consumer, and a return}}
kernel.func @k(%x: !kernel.activation<64, f32>) {
  kernel.return
}

// -----

// func_c3
// expected-error @+1 {{expects operands to be rows, routes, weights, a workspace or states, got 'f32'}}
kernel.func @k(%x: f32, %v: !lm.weight<4, f32>, %y: !kernel.activation<8, f32>) {
  kernel.rope_table %v : !lm.weight<4, f32> outs(%y : !kernel.activation<8, f32>) {factor = 1.0 : f32}
  kernel.return
}

// -----

// dispatch_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
lm.layer_kind @f(%x: tensor<?x64xf32>, %n: !lm.batch, %s: !lm.weight<64, f32> {lm.role = "s"}) -> tensor<?x64xf32> {
  // expected-error @+1 {{expects an operand, or -1, for each of its 1 results}}
  %0 = kernel.dispatch "copy"(%x : tensor<?x64xf32>) -> (tensor<?x64xf32>) as "copy" tied [1] {
  ^bb0(%a: !kernel.activation<64, f32>, %b: !kernel.activation<64, f32>):
    kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
    ^bb0(%v: f32):
      kernel.yield %v : f32
    }
  }
  lm.return %x : tensor<?x64xf32>
}
}

// -----

// dispatch_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
lm.layer_kind @f(%x: tensor<?x64xf32>, %n: !lm.batch, %s: !lm.weight<64, f32> {lm.role = "s"}) -> tensor<?x64xf32> {
  // expected-error @+1 {{expects an operand of the same type for each tied result, got 'tensor<?x32xf32>'}}
  %0 = kernel.dispatch "copy"(%x : tensor<?x64xf32>) -> (tensor<?x32xf32>) as "copy" tied [0] {
  ^bb0(%a: !kernel.activation<64, f32>, %b: !kernel.activation<64, f32>):
    kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
    ^bb0(%v: f32):
      kernel.yield %v : f32
    }
  }
  lm.return %x : tensor<?x64xf32>
}
}

// -----

// dispatch_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
lm.layer_kind @f(%x: tensor<?x64xf32>, %n: !lm.batch, %s: !lm.weight<64, f32> {lm.role = "s"}) -> tensor<?x64xf32> {
  // expected-error @+1 {{expects a region with 2 arguments}}
  %0 = kernel.dispatch "copy"(%x : tensor<?x64xf32>) -> (tensor<?x64xf32>) as "copy" tied [-1] {
  ^bb0(%a: !kernel.activation<64, f32>, %b: !kernel.activation<64, f32>, %c: !kernel.activation<64, f32>):
    kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
    ^bb0(%v: f32):
      kernel.yield %v : f32
    }
  }
  lm.return %x : tensor<?x64xf32>
}
}

// -----

// dispatch_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
lm.layer_kind @f(%x: tensor<?x64xf32>, %n: !lm.batch, %s: !lm.weight<64, f32> {lm.role = "s"}) -> tensor<?x64xf32> {
  // expected-error @+1 {{expects a used argument for the memory of '!lm.weight<64, f32>', got 'f32'}}
  %0 = kernel.dispatch "copy"(%x, %s : tensor<?x64xf32>, !lm.weight<64, f32>) -> (tensor<?x64xf32>) as "copy" tied [-1] {
  ^bb0(%a: !kernel.activation<64, f32>, %c: f32, %b: !kernel.activation<64, f32>):
    kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
    ^bb0(%v: f32):
      kernel.yield %v : f32
    }
  }
  lm.return %x : tensor<?x64xf32>
}
}

// -----

// dispatch_c5
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
lm.layer_kind @f(%x: tensor<?x64xf32>, %n: !lm.batch, %s: !lm.weight<64, f32> {lm.role = "s"}) -> tensor<?x64xf32> {
  // expected-error @+1 {{expects one op that is neither producer nor consumer}}
  %0 = kernel.dispatch "copy"(%x : tensor<?x64xf32>) -> (tensor<?x64xf32>) as "copy" tied [-1] {
  ^bb0(%a: !kernel.activation<64, f32>, %b: !kernel.activation<64, f32>):
    kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
    ^bb0(%v: f32):
      kernel.yield %v : f32
    }
    kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
    ^bb0(%v: f32):
      kernel.yield %v : f32
    }
  }
  lm.return %x : tensor<?x64xf32>
}
}

// -----

// matmul_c1
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects 1 weights, an aux count and an epilogue for each segment}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, q4_0>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c2
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x96, q4_0>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects weights of 32x64 in segment 0}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x96, q4_0>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c3
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %u: !lm.weight<32x64, q4_1>) {
  // expected-error @+1 {{expects the two gated weights to be of one type}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w, %u : !lm.weight<32x64, q4_0>, !lm.weight<32x64, q4_1>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c4
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects a region of 1 f32 arguments}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, q4_0>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c5
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects aux operands of 32 f32 values in segment 0}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, q4_0>) aux(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c6
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects 0 aux operands, got 1}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, q4_0>) aux(%y : !kernel.activation<32, f32>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// func_c4
// expected-error @+1 {{expects counts from at least 1 up, got #kernel.counts<9 to 8>}}
kernel.func @k(%k: !kernel.activation<1, key>, %i: !kernel.activation<1, i32>) attributes {counts = #kernel.counts<9 to 8>} {
  kernel.argmax_finish %k : !kernel.activation<1, key> outs(%i : !kernel.activation<1, i32>)
  kernel.return
}

// -----

// matmul_c10
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<48, f32>) {
  // expected-error @+1 {{expects an output of 32 values in segment 0}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, q4_0>) outs(%y : !kernel.activation<48, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rowwise_c1
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects inputs to be f32 rows or vectors of 32 values}}
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<32, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rowwise_c3
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects the extent of logits rows to gather}}
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>, gather} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// gather_c1
kernel.func @k(%w: !lm.weight<8x64, q8_0>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects f32 rows as wide as the weight's rows}}
  kernel.gather %w : !lm.weight<8x64, q8_0> outs(%y : !kernel.activation<32, f32>) {scale = 1.0 : f32}
  kernel.return
}

// -----

// fp8_rows_c2
kernel.func @k(%x: !kernel.activation<64, bf16>, %y: !kernel.activation<64, fp8>) {
  // expected-error @+1 {{expects a row, or as many for each token as it has experts}}
  kernel.fp8_rows %x : !kernel.activation<64, bf16> outs(%y : !kernel.activation<64, fp8>) {extent = #kernel.extent<rows>, rows_of_token = 2 : i64}
  kernel.return
}

// -----

// fp8_rows_c1
kernel.func @k(%x: !kernel.activation<64, bf16>, %y: !kernel.activation<32, fp8>) {
  // expected-error @+1 {{expects bf16 rows and fp8 rows of one width}}
  kernel.fp8_rows %x : !kernel.activation<64, bf16> outs(%y : !kernel.activation<32, fp8>) {extent = #kernel.extent<tokens>}
  kernel.return
}

// -----

// matmul_c17
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %e: !kernel.activation<64, fp8>) {
  // expected-error @+1 {{expects fp8 rows together with bf16 rows of the same width, and fp8 weights}}
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) outs(%y : !kernel.activation<32, f32>) fp8(%e : !kernel.activation<64, fp8>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rope_table_c1
kernel.func @k(%v: !lm.weight<4, f32>, %y: !kernel.activation<4, f32>) {
  // expected-error @+1 {{expects f32 rows of twice the count of frequencies}}
  kernel.rope_table %v : !lm.weight<4, f32> outs(%y : !kernel.activation<4, f32>) {factor = 1.0 : f32}
  kernel.return
}

// -----

// rope_append_c1
kernel.func @k(%q: !kernel.activation<64, f32>, %k: !kernel.activation<32, f32>, %t: !kernel.activation<32, f32>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>) {
  // expected-error @+1 {{expects k and v of 32 values}}
  kernel.rope_append %q, %q, %q into %kv {heads = 4 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<2, 16, bf16>
  kernel.return
}

// -----

// rope_append_c2
kernel.func @k(%q: !kernel.activation<64, f32>, %k: !kernel.activation<32, f32>, %t: !kernel.activation<32, f32>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>) {
  // expected-error @+1 {{expects q of heads x head_dim values}}
  kernel.rope_append %q, %k, %k into %kv {heads = 3 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<32, f32>, !kernel.activation<32, f32>, !kernel.kv_pool<2, 16, bf16>
  kernel.return
}

// -----

// rope_append_c3
kernel.func @k(%q: !kernel.activation<64, f32>, %k: !kernel.activation<32, f32>, %t: !kernel.activation<32, f32>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>) {
  // expected-error @+1 {{expects a table of at most head_dim values}}
  kernel.rope_append %q, %k, %k table %t : !kernel.activation<32, f32> into %kv {heads = 4 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<32, f32>, !kernel.activation<32, f32>, !kernel.kv_pool<2, 16, bf16>
  kernel.return
}

// -----

// rope_append_c4
kernel.func @k(%q: !kernel.activation<64, f32>, %k: !kernel.activation<32, f32>, %t: !kernel.activation<32, f32>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>) {
  // expected-error @+1 {{expects norms to be vectors of head_dim values}}
  kernel.rope_append %q, %k, %k q_norm %n : !lm.weight<8, f32> into %kv {heads = 4 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<32, f32>, !kernel.activation<32, f32>, !kernel.kv_pool<2, 16, bf16>
  kernel.return
}

// -----

// attention_c1
kernel.func @k(%q: !kernel.activation<64, f32>, %k: !kernel.activation<32, f32>, %t: !kernel.activation<32, f32>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>) {
  // expected-error @+1 {{expects kv_heads to divide heads}}
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<2, 16, bf16> outs(%q : !kernel.activation<64, f32>) {heads = 3 : i64, scale = 1.0 : f32}
  kernel.return
}

// -----

// attention_c2
kernel.func @k(%q: !kernel.activation<64, f32>, %k: !kernel.activation<32, f32>, %t: !kernel.activation<32, f32>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>) {
  // expected-error @+1 {{expects f32 queries and an output of heads x head_dim values}}
  kernel.attention %k, %kv : !kernel.activation<32, f32>, !kernel.kv_pool<2, 16, bf16> outs(%q : !kernel.activation<64, f32>) {heads = 4 : i64, scale = 1.0 : f32}
  kernel.return
}

// -----

// attention_c3
kernel.func @k(%q: !kernel.activation<64, f32>, %k: !kernel.activation<32, f32>, %t: !kernel.activation<64, q8>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>) {
  // expected-error @+1 {{expects head_dim to be a multiple of 32}}
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<2, 16, bf16> outs(%t : !kernel.activation<64, q8>) {heads = 4 : i64, scale = 1.0 : f32}
  kernel.return
}

// -----

// a region ends with what it yields
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects its region to yield 1 values}}
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    %0 = arith.negf %a : f32
  }
  kernel.return
}

// -----

// regions hold elementwise ops only
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    // expected-error @+1 {{is not elementwise and cannot be part of a kernel region}}
    %0 = func.call @f(%a) : (f32) -> f32
    kernel.yield %0 : f32
  }
  kernel.return
}

// -----

// ids_c1
kernel.func @f(%l: !kernel.activation<100, bf16>, %k: !kernel.activation<1, key>) {
  // expected-error @+1 {{expects f32 logits and a key of each row}}
  kernel.argmax %l : !kernel.activation<100, bf16> keys %k : !kernel.activation<1, key>
  kernel.return
}

// -----

// ids_c2
kernel.func @f(%k: !kernel.activation<1, key>, %i: !kernel.activation<1, f32>) {
  // expected-error @+1 {{expects sums of bytes and an i32 id of each row}}
  kernel.argmax_finish %k : !kernel.activation<1, key> outs(%i : !kernel.activation<1, f32>)
  kernel.return
}

// -----

// causal_conv_c1
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<192, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>>, %y: !kernel.activation<64, bf16>) {
  // expected-error @+1 {{expects f32 rows of one width}}
  kernel.causal_conv %x, %w over %s : !kernel.activation<64, f32>, !lm.weight<192, f32>, !kernel.fixed_state<#lm.fixed<[x: 2x64 x f32]>> outs(%y : !kernel.activation<64, bf16>)
  kernel.return
}

// -----

// causal_conv_c2
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<192, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 2x32 x f32]>>, %y: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects a state of earlier rows of 64 values}}
  kernel.causal_conv %x, %w over %s : !kernel.activation<64, f32>, !lm.weight<192, f32>, !kernel.fixed_state<#lm.fixed<[x: 2x32 x f32]>> outs(%y : !kernel.activation<64, f32>)
  kernel.return
}

// -----

// causal_conv_c3
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<192, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 3x64 x f32]>>, %y: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects vectors of 4 x 64 taps and of 64 biases}}
  kernel.causal_conv %x, %w over %s : !kernel.activation<64, f32>, !lm.weight<192, f32>, !kernel.fixed_state<#lm.fixed<[x: 3x64 x f32]>> outs(%y : !kernel.activation<64, f32>)
  kernel.return
}

// -----

// custom_c1
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  // expected-error @+1 {{where that takes 'tensor<?x32xf32>'}}
  kernel.custom "my.op" ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {body = "", error = 0.0 : f64} {
  ^bb0(%a: tensor<?x32xf32>):
    kernel.results %a : tensor<?x32xf32>
  }
  kernel.return
}

// -----

// custom_c2
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>, %z: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects its region to take each of its operands}}
  kernel.custom "my.op" ins(%x, %z : !kernel.activation<64, f32>, !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {body = "", error = 0.0 : f64} {
  ^bb0(%a: tensor<?x64xf32>):
    kernel.results %a : tensor<?x64xf32>
  }
  kernel.return
}

// -----

// custom_c3
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects its region to give rows of its outputs, then its state}}
  kernel.custom "my.op" ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {body = "", error = 0.0 : f64} {
  ^bb0(%a: tensor<?x64xf32>):
    kernel.results %a, %a : tensor<?x64xf32>, tensor<?x64xf32>
  }
  kernel.return
}

// -----

// custom_c4
kernel.func @k(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>, %s: !kernel.fixed_state<#lm.fixed<[x: 1x64 x f32, z: 1x64 x f32]>>) {
  // expected-error @+1 {{expects a state of one stream}}
  kernel.custom "my.op" ins(%x : !kernel.activation<64, f32>) over %s : !kernel.fixed_state<#lm.fixed<[x: 1x64 x f32, z: 1x64 x f32]>> outs(%y : !kernel.activation<64, f32>) attributes {body = "", error = 0.0 : f64} {
  ^bb0(%a: tensor<?x64xf32>, %t: !lm.state<#lm.fixed<[x: 1x64 x f32, z: 1x64 x f32]>>):
    kernel.results %a, %t : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 1x64 x f32, z: 1x64 x f32]>>
  }
  kernel.return
}

// -----

// matmul_c19
kernel.func @k(%x: !kernel.activation<64, f32>, %v: !lm.weight<32x64, f32, panel32>, %w: !lm.weight<32x64, f32, frag16>, %y: !kernel.activation<32, f32>) {
  // expected-error @+1 {{expects all of its weights to have the same layout}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%v, %w : !lm.weight<32x64, f32, panel32>, !lm.weight<32x64, f32, frag16>) outs(%y, %y : !kernel.activation<32, f32>, !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }, {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// func_c1: two ops that are neither producer nor consumer
// expected-error @+1 {{expects one op that is neither producer nor consumer, and a return}}
kernel.func @k(%k: !kernel.activation<1, key>, %i: !kernel.activation<1, i32>) {
  kernel.argmax_finish %k : !kernel.activation<1, key> outs(%i : !kernel.activation<1, i32>)
  kernel.argmax_finish %k : !kernel.activation<1, key> outs(%i : !kernel.activation<1, i32>)
  kernel.return
}

// -----

// func_c5
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  // expected-error @+1 {{neither produces rows for the kernel's anchor nor consumes its results}}
  %c = arith.constant 0.0 : f32
  kernel.argmax %y : !kernel.activation<32, f32> keys %i : !kernel.activation<1, key>
  kernel.return
}

// -----

// func_c6
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  // expected-error @+1 {{has a result that nothing in the kernel uses}}
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// func_c7
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // expected-error @+1 {{expects the kernel's anchor to count tokens, or logits rows, as it does}}
  kernel.argmax %f : !kernel.fused<32, f32> keys %i : !kernel.activation<1, key>
  kernel.return
}

// -----

// matmul_c12
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  // expected-error @+1 {{expects 1 outputs, or as many fused values, for 1 segments}}
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c7
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  // expected-error @+1 {{expects outputs to be f32, q8 or bf16, and fused values to be f32}}
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, bf16> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.argmax %f : !kernel.fused<32, bf16> keys %i : !kernel.activation<1, key>
  kernel.return
}

// -----

// ids_c1
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // expected-error @+1 {{expects f32 logits and a key of each row}}
  kernel.argmax %f : !kernel.fused<32, f32> keys %m : !kernel.activation<2, f32>
  kernel.return
}

// -----

// store_c1
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // expected-error @+1 {{expects f32 rows of the values that it stores}}
  kernel.store %f : !kernel.fused<32, f32> into %m : !kernel.activation<2, f32>
  kernel.return
}

// -----

// panel_maxima_c1
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %i: !kernel.activation<1, key>, %m: !kernel.activation<2, f32>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // expected-error @+1 {{expects an f32 maximum for each 32 f32 values}}
  kernel.panel_maxima %f : !kernel.fused<32, f32> into %m : !kernel.activation<2, f32>
  kernel.return
}

// -----

// rowwise_c5
kernel.func @k(%x: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects outputs, or a fused value instead}}
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rope_append_c5
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %kv: !kernel.kv_pool<1, 32, bf16>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // expected-error @+1 {{expects rows, or fused values with a fused q as its result}}
  kernel.rope_append %y, %f, %f into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<32, f32>, !kernel.fused<32, f32>, !kernel.fused<32, f32>, !kernel.kv_pool<1, 32, bf16>
  kernel.return
}

// -----

// rope_append_c6
kernel.func @k(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %n: !lm.weight<32, f32>, %kv: !kernel.kv_pool<1, 32, bf16>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  // expected-error @+1 {{expects no norms and no temperature of heads whose values are fused}}
  %r = kernel.rope_append %f, %f, %f q_norm %n : !lm.weight<32, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.fused<32, f32>, !kernel.fused<32, f32>, !kernel.fused<32, f32>, !kernel.kv_pool<1, 32, bf16> -> !kernel.fused<32, f32>
  kernel.store %r : !kernel.fused<32, f32> into %y : !kernel.activation<32, f32>
  kernel.return
}

// -----

// rope_append_c7
kernel.func @k(%q: !kernel.activation<32, f32>, %g: !lm.weight<4x32, f32>, %kv: !kernel.kv_pool<1, 32, bf16>) {
  // expected-error @+1 {{expects temperature to be a vector}}
  kernel.rope_append %q, %q, %q temperature %g : !lm.weight<4x32, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<32, f32>, !kernel.activation<32, f32>, !kernel.activation<32, f32>, !kernel.kv_pool<1, 32, bf16>
  kernel.return
}

// -----

// rope_append_c8
kernel.func @k(%q: !kernel.activation<32, f32>, %n: !lm.weight<32, f32>, %kv: !kernel.kv_pool<1, 32, bf16>) {
  // expected-error @+1 {{expects a norm that subtracts the mean to precede the rotation}}
  kernel.rope_append %q, %q, %q q_norm %n : !lm.weight<32, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>, norm_after, centred} : !kernel.activation<32, f32>, !kernel.activation<32, f32>, !kernel.activation<32, f32>, !kernel.kv_pool<1, 32, bf16>
  kernel.return
}

// -----

// route_c1
kernel.func @k(%x: !kernel.activation<6, f32>, %r: !kernel.routes<8, 2>) {
  // expected-error @+1 {{expects an f32 logit for each of 8 experts}}
  kernel.route %x : !kernel.activation<6, f32> outs(%r : !kernel.routes<8, 2>) {score = #lm.score<none>, normalize = #lm.normalize<none>, groups = 1 : i64, used_groups = 1 : i64, group_score = #lm.group_score<max>, norm_eps = 0.0 : f32, norm_floor = 0.0 : f32, scale = 1.0 : f32}
  kernel.return
}

// -----

// route_c2
kernel.func @k(%x: !kernel.activation<8, f32>, %b: !lm.weight<6, f32>, %r: !kernel.routes<8, 2>) {
  // expected-error @+1 {{expects vectors with a value for each expert}}
  kernel.route %x : !kernel.activation<8, f32> select %b : !lm.weight<6, f32> outs(%r : !kernel.routes<8, 2>) {score = #lm.score<none>, normalize = #lm.normalize<none>, groups = 1 : i64, used_groups = 1 : i64, group_score = #lm.group_score<max>, norm_eps = 0.0 : f32, norm_floor = 0.0 : f32, scale = 1.0 : f32}
  kernel.return
}

// -----

// combine_c1
kernel.func @k(%x: !kernel.activation<8, f32>, %r: !kernel.routes<8, 2>, %y: !kernel.activation<6, f32>) {
  // expected-error @+1 {{expects f32 rows of one width}}
  kernel.combine %x by %r : !kernel.activation<8, f32>, !kernel.routes<8, 2> outs(%y : !kernel.activation<6, f32>)
  kernel.return
}

// -----

// rowwise_c6
kernel.func @k(%x: !kernel.activation<8, f32>, %y: !kernel.activation<8, f32>, %r: !kernel.routes<8, 2>) {
  // expected-error @+1 {{expects as many rows for each token as it has experts}}
  kernel.rowwise ins(%x : !kernel.activation<8, f32>) outs(%y : !kernel.activation<8, f32>) to %r : !kernel.routes<8, 2> attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rowwise_c7
kernel.func @k(%x: !kernel.activation<8, f32>, %y: !kernel.activation<8, f32>, %c: !lm.weight<7, f32>) {
  // expected-error @+1 {{expects a column for each of 8 values of outputs, and only rows of that width}}
  kernel.rowwise ins(%x : !kernel.activation<8, f32>) outs(%y : !kernel.activation<8, f32>) by %c : !lm.weight<7, f32> attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rowwise_c7
kernel.func @k(%x: !lm.weight<8, f32>, %y: !kernel.activation<8, f32>, %c: !lm.weight<8, f32>) {
  // expected-error @+1 {{expects a column for each of 8 values of outputs, and only rows of that width}}
  kernel.rowwise ins(%x : !lm.weight<8, f32>) outs(%y : !kernel.activation<8, f32>) by %c : !lm.weight<8, f32> attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rowwise_c7: an order of 8 values for each of 8 experts, not padded to 32
kernel.func @k(%x: !kernel.activation<8, f32>, %y: !kernel.activation<8, f32>, %r: !kernel.routes<8, 2>, %c: !lm.weight<64, f32>) {
  // expected-error @+1 {{expects a column for each of 8 values of outputs, and only rows of that width}}
  kernel.rowwise ins(%x : !kernel.activation<8, f32>) outs(%y : !kernel.activation<8, f32>) to %r : !kernel.routes<8, 2> by %c : !lm.weight<64, f32> attributes {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// rowwise_c8
kernel.func @k(%x: !kernel.activation<8, f32>, %y: !kernel.activation<8, f32>) {
  // expected-error @+1 {{expects routes that its rows were dispatched to}}
  kernel.rowwise ins(%x : !kernel.activation<8, f32>) outs(%y : !kernel.activation<8, f32>) attributes {dispatched, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c20
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<8x32x64, q4_0>, %y: !kernel.activation<32, f32>, %r: !kernel.routes<8, 2>) {
  // expected-error @+1 {{expects one segment of tokens, whose results are written, for experts}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<8x32x64, q4_0>) outs(%y : !kernel.activation<32, f32>) of %r : !kernel.routes<8, 2> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c21
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<8x32x64, q4_0>, %y: !kernel.activation<32, f32>, %r: !kernel.routes<6, 2>) {
  // expected-error @+1 {{expects a matrix for each of 6 experts}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<8x32x64, q4_0>) outs(%y : !kernel.activation<32, f32>) of %r : !kernel.routes<6, 2> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// matmul_c5, of experts
kernel.func @k(%x: !kernel.activation<64, f32>, %w: !lm.weight<8x32x64, q4_0>, %b: !lm.weight<32, f32>, %y: !kernel.activation<32, f32>, %r: !kernel.routes<8, 2>) {
  // expected-error @+1 {{expects aux operands of 32 f32 values in segment 0}}
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<8x32x64, q4_0>) aux(%b : !lm.weight<32, f32>) outs(%y : !kernel.activation<32, f32>) of %r : !kernel.routes<8, 2> attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %d: f32):
    kernel.yield %a : f32
  }
  kernel.return
}

// -----

// attention_c4
kernel.func @k(%q: !kernel.activation<64, f32>, %n: !lm.weight<8, f32>, %kv: !kernel.kv_pool<2, 16, bf16>, %y: !kernel.activation<64, f32>) {
  // expected-error @+1 {{expects a sink for each head, got '!lm.weight<8, f32>'}}
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<2, 16, bf16> outs(%y : !kernel.activation<64, f32>) sinks %n : !lm.weight<8, f32> {heads = 4 : i64, scale = 1.0 : f32}
  kernel.return
}
