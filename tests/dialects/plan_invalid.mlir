// Each constraint of SPEC.md is broken once.
// RUN: ingot-opt %s -split-input-file -verify-diagnostics

// buffer_c1
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
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
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
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
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
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

// dispatch_c1
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.section @s {
    // expected-error @+1 {{passes 1 operands, its region takes 2}}
    plan.dispatch "copy" [#plan.buffer<@x>] {
    ^bb0(%a: !kernel.activation<64, f32>, %b: !kernel.activation<64, f32>):
      kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
      ^bb0(%v: f32):
        kernel.yield %v : f32
      }
    }
  }
}

// -----

// dispatch_c2
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.section @s {
    // expected-error @+1 {{passes operand 2, which is not used}}
    plan.dispatch "copy" [#plan.buffer<@x>, #plan.buffer<@x>, #plan.buffer<@x>] {
    ^bb0(%a: !kernel.activation<64, f32>, %b: !kernel.activation<64, f32>, %c: !kernel.activation<64, f32>):
      kernel.rowwise ins(%a : !kernel.activation<64, f32>) outs(%b : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
      ^bb0(%v: f32):
        kernel.yield %v : f32
      }
    }
  }
}

// -----

// launch_c2
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
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
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<64, f32> {source = "w"}
  plan.buffer @x per_token 256
  plan.section @s {
    // expected-error @+1 {{passes #plan.state<0> for an operand of type}}
    plan.launch @copy [#plan.state<0>, #plan.weight<@w>, #plan.buffer<@x>]
  }
}

// -----

// launch_c4
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
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
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
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
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{names no section: @nobody}}
    plan.step @nobody
  }
}

// -----

// step_c2
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
  }
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{names no state: @kv.2}}
    plan.step @s states [@kv.2]
  }
}

// -----

// step_c3
kernel.func @copy(%x: !kernel.activation<64, f32>, %w: !lm.weight<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x, %w : !kernel.activation<64, f32>, !lm.weight<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
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
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{has 0 weights, but a launch of @s reads weight 0}}
    plan.step @s
  }
}

// -----

// launch_c4 of a workspace
kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, f32>, %w: !kernel.workspace<4096>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, f32>) workspace %w : !kernel.workspace<4096> {heads = 1 : i64, scale = 1.0 : f32}
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.buffer @w fixed 2048
  plan.section @s {
    // expected-error @+1 {{to be a buffer of at least 4096 bytes a row}}
    plan.launch @attend [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@x>, #plan.buffer<@w>]
  }
}

// -----

// launch_c6
kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, f32>, %w: !kernel.workspace<4096>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, f32>) workspace %w : !kernel.workspace<4096> {heads = 1 : i64, scale = 1.0 : f32}
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.buffer @w per_row 4096
  plan.section @s {
    // expected-error @+1 {{to be of class fixed as a workspace}}
    plan.launch @attend [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@x>, #plan.buffer<@w>]
  }
}

// -----

// section_c1
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
    // expected-error @+1 {{expects a section of either launches or cases}}
    plan.launch @nobody []
    plan.case {
    }
  }
}

// -----

// section_c2
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
    // expected-error @+1 {{expects a condition of every case but the last, which has none}}
    plan.case when [mode = greedy] {
    }
  }
}

// -----

// section_c2, not the last
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
    // expected-error @+1 {{expects a condition of every case but the last, which has none}}
    plan.case {
    }
    plan.case {
    }
  }
}

// -----

// when_c1
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
    // expected-error @+1 {{expects at least one condition}}
    plan.case when [] {
    }
    plan.case {
    }
  }
}

// -----

// when_c2
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
    // expected-error @+1 {{expects a bound of at least 1 for tokens}}
    plan.when [tokens <= 0] {
    }
  }
}

// -----

// an unknown quantity
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.section @s {
    // expected-error @+1 {{expected one of [mode, tokens, rows, tile_tokens] for what the host knows of a step before it runs, got: weather}}
    plan.case when [weather = greedy] {
    }
    plan.case {
    }
  }
}

// -----

// entry_c1
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{is neither a step nor an output of}}
    plan.section @s {
    }
  }
}

// -----

// entry_c2
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects the mode logits, drawn only together with greedy, and no duplicates}}
  plan.entry @generate modes [logits, drawn] {
  }
}

// -----

// output_c1
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{expects a buffer of rows, got @x}}
    plan.output logits f32 @x
  }
}

// -----

// output_c2
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_row 256
  plan.entry @generate modes [logits] {
    plan.output logits f32 @x
    // expected-error @+1 {{is the second logits}}
    plan.output logits f32 @x
  }
}

// -----

// step_c4
kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, f32>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, f32>) {heads = 1 : i64, scale = 1.0 : f32}
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.section @s {
    plan.launch @attend [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@x>]
  }
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{has 0 states, but a launch of @s reads state 0}}
    plan.step @s
  }
}

// -----

// state_c1
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects keys and values of a format and a window if it is paged}}
  plan.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> bytes 4096
}

// -----

// state_c1 of a fixed one
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects keys and values of a format and a window if it is paged, and neither if it is fixed}}
  plan.state @conv.0 : #lm.fixed<[x: 2x64 x f32]> window 3 bytes 512
}

// -----

// state_c2
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{takes 512 bytes, got 500}}
  plan.state @conv.0 : #lm.fixed<[x: 2x64 x f32]> bytes 500
}

// -----

// step_c5
kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, f32>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, f32>) {heads = 1 : i64, scale = 1.0 : f32}
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.state @conv.0 : #lm.fixed<[x: 2x64 x f32]> bytes 512
  plan.section @s {
    plan.launch @attend [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@x>]
  }
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{expects @conv.0 to be of type '!kernel.kv_pool<1, 64, bf16>'}}
    plan.step @s states [@conv.0]
  }
}

// -----

// step_c7
kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, f32>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, f32>) {heads = 1 : i64, scale = 1.0 : f32, window = 9 : i64}
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.buffer @x per_token 256
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "bf16" window 8 bytes 8192
  plan.section @s {
    plan.launch @attend [#plan.buffer<@x>, #plan.state<0>, #plan.buffer<@x>]
  }
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{expects @kv.0 to keep what @attend reads, a window of 9 (0: all), and not of 8}}
    plan.step @s states [@kv.0]
  }
}

// -----

// step_c6: the weights of a layer have the layout that its kernels take
kernel.func @head(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, f32, panel32>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, f32, panel32>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @w : !lm.weight<32x64, f32, frag16> {source = "w"}
  plan.buffer @x per_token 256
  plan.buffer @y per_token 128
  plan.section @s {
    plan.launch @head [#plan.buffer<@x>, #plan.layer_weight<0>, #plan.buffer<@y>]
  }
  plan.entry @generate modes [logits] {
    // expected-error @+1 {{expects @w to be of type '!lm.weight<32x64, f32, panel32>'}}
    plan.step @s layer 0 weights [@w]
  }
}
