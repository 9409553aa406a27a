// What has no GPU kernel is refused with its reason.
// RUN: not print-cuda-kernels %s 2>&1 | FileCheck %s

// CHECK: error: 'kernel.matmul' op expects bf16 rows on GPUs, got '!kernel.rows<64, q8>'
kernel.func @q8(%x: !kernel.rows<64, q8>, %w: !lm.weight<32x64, q4_0>, %y: !kernel.rows<32, f32>) {
  kernel.matmul %x : !kernel.rows<64, q8> weights(%w : !lm.weight<32x64, q4_0>) outs(%y : !kernel.rows<32, f32>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// CHECK: error: 'kernel.attention' op expects a KV pool of bf16 or fp8 on GPUs
kernel.func @f16(%q: !kernel.rows<64, f32>, %kv: !kernel.kv_pool<1, 64, f16>, %y: !kernel.rows<64, f32>) {
  kernel.attention %q, %kv : !kernel.rows<64, f32>, !kernel.kv_pool<1, 64, f16> outs(%y : !kernel.rows<64, f32>) {heads = 1 : i64, scale = 0.125 : f32}
  kernel.return
}

// CHECK: error: 'math.sin' op has no CUDA rendering in the region of this op
kernel.func @sine(%x: !kernel.rows<64, f32>, %y: !kernel.rows<64, f32>) {
  kernel.rowwise ins(%x : !kernel.rows<64, f32>) outs(%y : !kernel.rows<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%a: f32):
    %s = math.sin %a : f32
    kernel.yield %s : f32
  }
  kernel.return
}
