// Why rotation and append stay a separate launch in steps of few tokens.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(kernel-append-epilogues)' --split-input-file --remarks-filter-missed=fusion --remark-policy=all 2>&1 | FileCheck %s

// CHECK-DAG: [Missed] append_epilogue | Category:fusion | {{.*}}Reason="heads have norms, and no block of the projection has a whole head to sum"
// CHECK-DAG: [Missed] append_epilogue | Category:fusion | {{.*}}Reason="the projection appends to a cache that is not of bf16"
// CHECK-DAG: [Missed] append_epilogue | Category:fusion | {{.*}}Reason="the projection has no block with both rows of a pair: half a head must be whole tiles of 16 rows"
// CHECK-DAG: [Missed] append_epilogue | Category:fusion | {{.*}}Reason="q, k and v do not come from one projection, in this order"
// CHECK-DAG: [Missed] append_epilogue | Category:fusion | {{.*}}Reason="rows of k or v have another use"
// CHECK-NOT: plan.when

kernel.func @qkv(%x: !kernel.activation<64, bf16>, %w: !lm.weight<64x64, bf16>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<64, f32>, %y2: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>) outs(%y0, %y1, %y2 : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @normed(%q: !kernel.activation<64, f32>, %k: !kernel.activation<64, f32>, %v: !kernel.activation<64, f32>, %t: !kernel.activation<64, f32>, %n: !lm.weight<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>) {
  kernel.rope_append %q, %k, %v table %t : !kernel.activation<64, f32> q_norm %n : !lm.weight<64, f32> k_norm %n : !lm.weight<64, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16>
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 64 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<64x64, bf16>
  plan.weight @n : !lm.weight<64, f32>
  plan.buffer @x per_token 128 persistent
  plan.buffer @t per_token 256 persistent
  plan.buffer @q per_token 256
  plan.buffer @k per_token 256
  plan.buffer @v per_token 256
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "bf16" window 0 bytes 8192
  plan.section @layer {
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
    plan.launch @normed [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.weight<@n>, #plan.state<0>]
  }
  plan.entry @generate modes [logits] {
    plan.step @layer states [@kv.0]
  }
}

// -----

kernel.func @qkv(%x: !kernel.activation<64, bf16>, %w: !lm.weight<64x64, bf16>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<64, f32>, %y2: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>) outs(%y0, %y1, %y2 : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @f32(%q: !kernel.activation<64, f32>, %k: !kernel.activation<64, f32>, %v: !kernel.activation<64, f32>, %t: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, f32>) {
  kernel.rope_append %q, %k, %v table %t : !kernel.activation<64, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, f32>
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 64 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<64x64, bf16>
  plan.weight @n : !lm.weight<64, f32>
  plan.buffer @x per_token 128 persistent
  plan.buffer @t per_token 256 persistent
  plan.buffer @q per_token 256
  plan.buffer @k per_token 256
  plan.buffer @v per_token 256
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "f32" window 0 bytes 16384
  plan.section @layer {
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
    plan.launch @f32 [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.state<0>]
  }
  plan.entry @generate modes [logits] {
    plan.step @layer states [@kv.0]
  }
}

// -----

// Only half of each head is rotated.
kernel.func @qkv(%x: !kernel.activation<64, bf16>, %w: !lm.weight<64x64, bf16>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<64, f32>, %y2: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>) outs(%y0, %y1, %y2 : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @partial(%q: !kernel.activation<64, f32>, %k: !kernel.activation<64, f32>, %v: !kernel.activation<64, f32>, %t: !kernel.activation<32, f32>, %kv: !kernel.kv_pool<1, 64, bf16>) {
  kernel.rope_append %q, %k, %v table %t : !kernel.activation<32, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16>
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 64 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<64x64, bf16>
  plan.weight @n : !lm.weight<64, f32>
  plan.buffer @x per_token 128 persistent
  plan.buffer @t per_token 256 persistent
  plan.buffer @q per_token 256
  plan.buffer @k per_token 256
  plan.buffer @v per_token 256
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "bf16" window 0 bytes 8192
  plan.section @layer {
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
    plan.launch @partial [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.state<0>]
  }
  plan.entry @generate modes [logits] {
    plan.step @layer states [@kv.0]
  }
}

// -----

kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, bf16>) {heads = 1 : i64, scale = 0.125 : f32}
  kernel.return
}
kernel.func @qkv(%x: !kernel.activation<64, bf16>, %w: !lm.weight<64x64, bf16>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<64, f32>, %y2: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>) outs(%y0, %y1, %y2 : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @rope(%q: !kernel.activation<64, f32>, %k: !kernel.activation<64, f32>, %v: !kernel.activation<64, f32>, %t: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>) {
  kernel.rope_append %q, %k, %v table %t : !kernel.activation<64, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16>
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 64 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<64x64, bf16>
  plan.weight @n : !lm.weight<64, f32>
  plan.buffer @x per_token 128 persistent
  plan.buffer @t per_token 256 persistent
  plan.buffer @q per_token 256
  plan.buffer @k per_token 256
  plan.buffer @v per_token 256
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "bf16" window 0 bytes 8192
  plan.section @swapped {
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@v>, #plan.buffer<@k>]
    plan.launch @rope [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.state<0>]
  }
  plan.section @between {
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
    plan.launch @attend [#plan.buffer<@k>, #plan.state<0>, #plan.buffer<@x>]
    plan.launch @rope [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.state<0>]
  }
  plan.entry @generate modes [logits] {
    plan.step @swapped states [@kv.0]
    plan.step @between states [@kv.0]
  }
}

// -----

kernel.func @attend(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>, %y: !kernel.activation<64, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16> outs(%y : !kernel.activation<64, bf16>) {heads = 1 : i64, scale = 0.125 : f32}
  kernel.return
}
kernel.func @qkv(%x: !kernel.activation<64, bf16>, %w: !lm.weight<64x64, bf16>, %y0: !kernel.activation<64, f32>, %y1: !kernel.activation<64, f32>, %y2: !kernel.activation<64, f32>) {
  kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>, !lm.weight<64x64, bf16>) outs(%y0, %y1, %y2 : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>) attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
kernel.func @rope(%q: !kernel.activation<64, f32>, %k: !kernel.activation<64, f32>, %v: !kernel.activation<64, f32>, %t: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, bf16>) {
  kernel.rope_append %q, %k, %v table %t : !kernel.activation<64, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, bf16>
  kernel.return
}
plan.program @p attributes {family = "t", vocab = 64 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  plan.weight @m : !lm.weight<64x64, bf16>
  plan.weight @n : !lm.weight<64, f32>
  plan.buffer @x per_token 128 persistent
  plan.buffer @t per_token 256 persistent
  plan.buffer @q per_token 256
  plan.buffer @k per_token 256
  plan.buffer @v per_token 256
  plan.state @kv.0 : #lm.paged<[k: 1x64, v: 1x64]> of "bf16" window 0 bytes 8192
  plan.section @layer {
    plan.launch @qkv [#plan.buffer<@x>, #plan.weight<@m>, #plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>]
    plan.launch @rope [#plan.buffer<@q>, #plan.buffer<@k>, #plan.buffer<@v>, #plan.buffer<@t>, #plan.state<0>]
    plan.launch @attend [#plan.buffer<@v>, #plan.state<0>, #plan.buffer<@x>]
  }
  plan.entry @generate modes [logits] {
    plan.step @layer states [@kv.0]
  }
}
