// Each constraint of SPEC.md is broken once.
// RUN: ingot-opt %s -split-input-file -verify-diagnostics

// program_c1
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
// expected-error @+1 {{expects logits to name a buffer, got @nobody}}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64, logits = @nobody} {

}

// -----

// buffer_c1
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects a positive multiple of 64 bytes, got 100}}
  plan.buffer @x per_token 100
}

// -----

// buffer_c2
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects an offset that is a multiple of 64, got 3}}
  plan.buffer @x per_token 64 at 3
}

// -----

// launch_c1
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32> {source = "w"}
  plan.buffer @x per_token 256
  plan.section @s {
    // expected-error @+1 {{names no kernel: @nobody}}
    plan.launch @nobody [#plan.buffer<@x>, #plan.weight<@w>, #plan.buffer<@x>]
  }
}

// -----

// launch_c2
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32> {source = "w"}
  plan.buffer @x per_token 256
  plan.section @s {
    // expected-error @+1 {{passes 1 operands, @copy takes 3}}
    plan.launch @copy [#plan.buffer<@x>]
  }
}

// -----

// launch_c3
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32> {source = "w"}
  plan.buffer @x per_token 256
  plan.section @s {
    // expected-error @+1 {{passes #plan.kv for an operand of type}}
    plan.launch @copy [#plan.kv, #plan.weight<@w>, #plan.buffer<@x>]
  }
}

// -----

// launch_c4
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32> {source = "w"}
  plan.buffer @x per_token 128
  plan.section @s {
    // expected-error @+1 {{to be a buffer of at least 256 bytes a row}}
    plan.launch @copy [#plan.buffer<@x>, #plan.weight<@w>, #plan.buffer<@x>]
  }
}

// -----

// launch_c5
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<32, f32> {source = "w"}
  plan.buffer @x per_token 256
  plan.section @s {
    // expected-error @+1 {{to be a weight of type}}
    plan.launch @copy [#plan.buffer<@x>, #plan.weight<@w>, #plan.buffer<@x>]
  }
}

// -----

// step_c1
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{names no section: @nobody}}
  plan.step @nobody
}

// -----

// step_c2
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
  }
  // expected-error @+1 {{expects a KV slot below 0, got 2}}
  plan.step @s kv 2
}

// -----

// step_c3
kernel.func @copy(%x: !kernel.rows<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.rows<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32> {source = "w"}
  plan.buffer @x per_token 256
  plan.section @s {
    plan.launch @copy [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@x>]
  }
  // expected-error @+1 {{has 0 weights, but a launch of @s reads weight 0}}
  plan.step @s
}
