// Ops without a GPU kernel are refused with the reason.
// RUN: not print-cuda-kernels %s 2>&1 | FileCheck %s

// CHECK: error: 'kernel.matmul' op expects rows of bf16 or f32 on GPUs, got '!kernel.activation<64, q8>'
kernel.func @q8(%x: !kernel.activation<64, q8>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, q8> weights(%w : !lm.weight<32x64, q4_0>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// CHECK: error: 'kernel.matmul' op expects float weights with f32 rows on GPUs, got '!lm.weight<32x64, q4_0>'
kernel.func @f32(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, q4_0>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// CHECK: error: 'kernel.matmul' op expects f32 rows in memory, single weights and results in memory on GPUs
kernel.func @f32_pair(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, f32>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w, %w : !lm.weight<32x64, f32>, !lm.weight<32x64, f32>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %m = arith.mulf %g, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// CHECK: error: {{.*}}expects matrices in the layout panel32 on this target, got '!lm.weight<32x64, f32, frag16>'
kernel.func @f32_layout(%x: !kernel.activation<64, f32>, %w: !lm.weight<32x64, f32, frag16>, %y: !kernel.activation<32, f32>) {
  kernel.matmul %x : !kernel.activation<64, f32> weights(%w : !lm.weight<32x64, f32, frag16>) outs(%y : !kernel.activation<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// CHECK: error: 'kernel.attention' op expects a KV pool of bf16 or fp8 on GPUs
kernel.func @f16(%q: !kernel.activation<64, f32>, %kv: !kernel.kv_pool<1, 64, f16>, %y: !kernel.activation<64, f32>) {
  kernel.attention %q, %kv : !kernel.activation<64, f32>, !kernel.kv_pool<1, 64, f16> outs(%y : !kernel.activation<64, f32>) {heads = 1 : i64, scale = 0.125 : f32}
  kernel.return
}

// CHECK: error: 'math.sin' op has no CUDA rendering in the region of this op
kernel.func @sine(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    %s = math.sin %a : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// Ops around a projection that its kernel does not support are refused by name.
// CHECK: error: 'kernel.matmul' op has a consumer that is not supported on GPUs: kernel.panel_maxima
kernel.func @maxima(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.activation<32, f32>, %m: !kernel.activation<1, f32>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.store %f : !kernel.fused<32, f32> into %y : !kernel.activation<32, f32>
  kernel.panel_maxima %f : !kernel.fused<32, f32> into %m : !kernel.activation<1, f32>
  kernel.return
}

// CHECK: error: 'kernel.matmul' op expects logits together with their keys on GPUs
kernel.func @keys(%x: !kernel.activation<64, bf16>, %w: !lm.weight<32x64, q4_0>, %k: !kernel.activation<1, key>) {
  %f = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w : !lm.weight<32x64, q4_0>) -> !kernel.fused<32, f32> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<rows>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.argmax %f : !kernel.fused<32, f32> keys %k : !kernel.activation<1, key>
  kernel.return
}

// CHECK: error: 'kernel.matmul' op has no block with both rows of a pair: half a head must be whole tiles of 16 rows
kernel.func @pairs(%x: !kernel.activation<64, bf16>, %w: !lm.weight<48x64, q4_0>, %y: !kernel.activation<48, f32>, %kv: !kernel.kv_pool<1, 48, bf16>, %t: !kernel.activation<48, f32>) {
  %q, %k, %v = kernel.matmul %x : !kernel.activation<64, bf16> weights(%w, %w, %w : !lm.weight<48x64, q4_0>, !lm.weight<48x64, q4_0>, !lm.weight<48x64, q4_0>) -> !kernel.fused<48, f32>, !kernel.fused<48, f32>, !kernel.fused<48, f32> attributes {aux_counts = array<i64: 0, 0, 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }, {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  %r = kernel.rope_append %q, %k, %v table %t : !kernel.activation<48, f32> into %kv {heads = 1 : i64, style = #lm.rope_style<half>} : !kernel.fused<48, f32>, !kernel.fused<48, f32>, !kernel.fused<48, f32>, !kernel.kv_pool<1, 48, bf16> -> !kernel.fused<48, f32>
  kernel.store %r : !kernel.fused<48, f32> into %y : !kernel.activation<48, f32>
  kernel.return
}

// CHECK: error: 'kernel.rowwise' op is fused with other ops, which is not supported on GPUs
kernel.func @rowwise(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  %f = kernel.rowwise ins(%x : !kernel.activation<64, f32>) -> !kernel.fused<64, f32> attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.store %f : !kernel.fused<64, f32> into %y : !kernel.activation<64, f32>
  kernel.return
}

// CHECK: error: 'kernel.route' op expects at most 32 of 1024 experts for a token on GPUs, got 33 of 64
kernel.func @route(%l: !kernel.activation<64, f32>, %r: !kernel.routes<64, 33>) {
  kernel.route %l : !kernel.activation<64, f32> outs(%r : !kernel.routes<64, 33>) {score = #lm.score<softmax>, normalize = #lm.normalize<none>, groups = 1 : i64, used_groups = 1 : i64, group_score = #lm.group_score<max>, norm_eps = 0.000000e+00 : f32, norm_floor = 0.000000e+00 : f32, scale = 1.000000e+00 : f32}
  kernel.return
}

// CHECK: error: 'kernel.matmul' op expects rows of experts in memory, on GPUs
kernel.func @computed_experts(%x: !kernel.activation<128, f32>, %w: !lm.weight<8x64x128, fp8>, %y: !kernel.activation<64, f32>, %r: !kernel.routes<8, 2>) {
  %f = kernel.rowwise ins(%x : !kernel.activation<128, f32>) -> !kernel.fused<128, bf16> attributes {extent = #kernel.extent<tokens>, rows_of_token = 2 : i64} {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }
  kernel.matmul %f : !kernel.fused<128, bf16> weights(%w : !lm.weight<8x64x128, fp8>) outs(%y : !kernel.activation<64, f32>) of %r : !kernel.routes<8, 2> attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}
