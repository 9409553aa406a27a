// Checks the exact resources that ptxas assigns to the kernels of an 8B shape, because any change here changes the
// speed, for better or worse. NVRTC is pinned, so the numbers are the same everywhere. After an intended change, print
// them again:
//   print-cuda-kernels tests/codegen/cuda/cuda_resources.mlir resources sm_90a
// REQUIRES: nvrtc
// RUN: print-cuda-kernels %s resources sm_90a | FileCheck %s

// CHECK:      down_bf16_t8: 72 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: down_bf16_t16: 88 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: down_bf16_t32: 100 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: down_bf16_t64: 160 registers, 0 bytes spilled, 0 + 40960 bytes shared{{$}}
// CHECK-NEXT: down_bf16_wgmma128: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
// CHECK-NEXT: down_bf16_wgmma: 168 registers, 0 bytes spilled, 0 + 229448 bytes shared{{$}}
kernel.func @down_bf16(%x: !kernel.activation<14336, bf16>, %w: !lm.weight<4096x14336, bf16>, %y: !kernel.activation<4096, f32>) {
  kernel.matmul %x : !kernel.activation<14336, bf16> weights(%w : !lm.weight<4096x14336, bf16>) aux(%y : !kernel.activation<4096, f32>) outs(%y : !kernel.activation<4096, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %r: f32):
    %s = arith.addf %acc, %r : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// CHECK:      gate_up_bf16_t8: 96 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: gate_up_bf16_t16: 114 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: gate_up_bf16_t32: 150 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: gate_up_bf16_prefill: 198 registers, 0 bytes spilled, 0 + 98304 bytes shared{{$}}
// CHECK-NEXT: gate_up_bf16_wgmma128: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
// CHECK-NEXT: gate_up_bf16_wgmma: 168 registers, 0 bytes spilled, 0 + 229448 bytes shared{{$}}
kernel.func @gate_up_bf16(%x: !kernel.activation<4096, bf16>, %w0: !lm.weight<14336x4096, bf16>, %w1: !lm.weight<14336x4096, bf16>, %y: !kernel.activation<14336, bf16>) {
  kernel.matmul %x : !kernel.activation<4096, bf16> weights(%w0, %w1 : !lm.weight<14336x4096, bf16>, !lm.weight<14336x4096, bf16>) outs(%y : !kernel.activation<14336, bf16>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %m = arith.mulf %g, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// CHECK:      down_fp8_t8: 80 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: down_fp8_t16: 105 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: down_fp8_t32: 157 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: down_fp8_t64: 227 registers, 0 bytes spilled, 0 + 40960 bytes shared{{$}}
// CHECK-NEXT: down_fp8_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @down_fp8(%x: !kernel.activation<14336, bf16>, %w: !lm.weight<4096x14336, fp8>, %y: !kernel.activation<4096, f32>) {
  kernel.matmul %x : !kernel.activation<14336, bf16> weights(%w : !lm.weight<4096x14336, fp8>) aux(%y : !kernel.activation<4096, f32>) outs(%y : !kernel.activation<4096, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %r: f32):
    %s = arith.addf %acc, %r : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// CHECK:      gate_up_fp8_t8: 98 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: gate_up_fp8_t16: 137 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: gate_up_fp8_t32: 195 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: gate_up_fp8_prefill: 250 registers, 0 bytes spilled, 0 + 98304 bytes shared{{$}}
// CHECK-NEXT: gate_up_fp8_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @gate_up_fp8(%x: !kernel.activation<4096, bf16>, %w0: !lm.weight<14336x4096, fp8>, %w1: !lm.weight<14336x4096, fp8>, %y: !kernel.activation<14336, bf16>) {
  kernel.matmul %x : !kernel.activation<4096, bf16> weights(%w0, %w1 : !lm.weight<14336x4096, fp8>, !lm.weight<14336x4096, fp8>) outs(%y : !kernel.activation<14336, bf16>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %m = arith.mulf %g, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// CHECK:      down_int8_t8: 96 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: down_int8_t16: 120 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: down_int8_t32: 149 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: down_int8_t64: 193 registers, 0 bytes spilled, 0 + 40960 bytes shared{{$}}
// CHECK-NEXT: down_int8_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @down_int8(%x: !kernel.activation<14336, bf16>, %w: !lm.weight<4096x14336, int8>, %y: !kernel.activation<4096, f32>) {
  kernel.matmul %x : !kernel.activation<14336, bf16> weights(%w : !lm.weight<4096x14336, int8>) aux(%y : !kernel.activation<4096, f32>) outs(%y : !kernel.activation<4096, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %r: f32):
    %s = arith.addf %acc, %r : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// CHECK:      gate_up_int8_t8: 95 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: gate_up_int8_t16: 121 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: gate_up_int8_t32: 176 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: gate_up_int8_prefill: 239 registers, 0 bytes spilled, 0 + 73728 bytes shared{{$}}
// CHECK-NEXT: gate_up_int8_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @gate_up_int8(%x: !kernel.activation<4096, bf16>, %w0: !lm.weight<14336x4096, int8>, %w1: !lm.weight<14336x4096, int8>, %y: !kernel.activation<14336, bf16>) {
  kernel.matmul %x : !kernel.activation<4096, bf16> weights(%w0, %w1 : !lm.weight<14336x4096, int8>, !lm.weight<14336x4096, int8>) outs(%y : !kernel.activation<14336, bf16>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %m = arith.mulf %g, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// CHECK:      down_int4_g128_t8: 109 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: down_int4_g128_t16: 127 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: down_int4_g128_t32: 180 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: down_int4_g128_t64: 254 registers, 0 bytes spilled, 0 + 40960 bytes shared{{$}}
// CHECK-NEXT: down_int4_g128_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @down_int4_g128(%x: !kernel.activation<14336, bf16>, %w: !lm.weight<4096x14336, int4_g128>, %y: !kernel.activation<4096, f32>) {
  kernel.matmul %x : !kernel.activation<14336, bf16> weights(%w : !lm.weight<4096x14336, int4_g128>) aux(%y : !kernel.activation<4096, f32>) outs(%y : !kernel.activation<4096, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %r: f32):
    %s = arith.addf %acc, %r : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// CHECK:      gate_up_int4_g128_t8: 95 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: gate_up_int4_g128_t16: 125 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: gate_up_int4_g128_t32: 254 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: gate_up_int4_g128_prefill: 255 registers, 0 bytes spilled, 0 + 98304 bytes shared{{$}}
// CHECK-NEXT: gate_up_int4_g128_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @gate_up_int4_g128(%x: !kernel.activation<4096, bf16>, %w0: !lm.weight<14336x4096, int4_g128>, %w1: !lm.weight<14336x4096, int4_g128>, %y: !kernel.activation<14336, bf16>) {
  kernel.matmul %x : !kernel.activation<4096, bf16> weights(%w0, %w1 : !lm.weight<14336x4096, int4_g128>, !lm.weight<14336x4096, int4_g128>) outs(%y : !kernel.activation<14336, bf16>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %m = arith.mulf %g, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// CHECK:      down_q4_k_t8: 121 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: down_q4_k_t16: 153 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: down_q4_k_t32: 217 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: down_q4_k_prefill: 205 registers, 0 bytes spilled, 0 + 49152 bytes shared{{$}}
// CHECK-NEXT: down_q4_k_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @down_q4_k(%x: !kernel.activation<14336, bf16>, %w: !lm.weight<4096x14336, q4_k>, %y: !kernel.activation<4096, f32>) {
  kernel.matmul %x : !kernel.activation<14336, bf16> weights(%w : !lm.weight<4096x14336, q4_k>) aux(%y : !kernel.activation<4096, f32>) outs(%y : !kernel.activation<4096, f32>) attributes {aux_counts = array<i64: 1>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32, %r: f32):
    %s = arith.addf %acc, %r : f32
    kernel.yield %s : f32
  }
  kernel.return
}

// CHECK:      gate_up_q4_k_t8: 167 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: gate_up_q4_k_t16: 165 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: gate_up_q4_k_t32: 255 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: gate_up_q4_k_prefill: 203 registers, 0 bytes spilled, 0 + 49152 bytes shared{{$}}
// CHECK-NEXT: gate_up_q4_k_wgmma: 168 registers, 0 bytes spilled, 0 + 139360 bytes shared{{$}}
kernel.func @gate_up_q4_k(%x: !kernel.activation<4096, bf16>, %w0: !lm.weight<14336x4096, q4_k>, %w1: !lm.weight<14336x4096, q4_k>, %y: !kernel.activation<14336, bf16>) {
  kernel.matmul %x : !kernel.activation<4096, bf16> weights(%w0, %w1 : !lm.weight<14336x4096, q4_k>, !lm.weight<14336x4096, q4_k>) outs(%y : !kernel.activation<14336, bf16>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>, gated} {
  ^bb0(%g: f32, %u: f32):
    %m = arith.mulf %g, %u : f32
    kernel.yield %m : f32
  }
  kernel.return
}

// CHECK:      attention_bf16_prefill: 222 registers, 0 bytes spilled, 0 + 49152 bytes shared{{$}}
// CHECK-NEXT: attention_bf16_decode: 210 registers, 0 bytes spilled, 1024 + 78112 bytes shared{{$}}
kernel.func @attention_bf16(%q: !kernel.activation<4096, f32>, %kv: !kernel.kv_pool<8, 128, bf16>, %y: !kernel.activation<4096, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<4096, f32>, !kernel.kv_pool<8, 128, bf16> outs(%y : !kernel.activation<4096, bf16>) {heads = 32 : i64, scale = 0.125 : f32, window = 0 : i64, softcap = 0.0 : f32}
  kernel.return
}

// CHECK:      attention_fp8_prefill: 255 registers, 0 bytes spilled, 0 + 49152 bytes shared{{$}}
// CHECK-NEXT: attention_fp8_decode: 146 registers, 0 bytes spilled, 1024 + 45344 bytes shared{{$}}
kernel.func @attention_fp8(%q: !kernel.activation<4096, f32>, %kv: !kernel.kv_pool<8, 128, fp8>, %y: !kernel.activation<4096, bf16>) {
  kernel.attention %q, %kv : !kernel.activation<4096, f32>, !kernel.kv_pool<8, 128, fp8> outs(%y : !kernel.activation<4096, bf16>) {heads = 32 : i64, scale = 0.125 : f32, window = 0 : i64, softcap = 0.0 : f32}
  kernel.return
}

// CHECK:      fp8_products_t8: 79 registers, 0 bytes spilled, 0 + 5120 bytes shared{{$}}
// CHECK-NEXT: fp8_products_t16: 105 registers, 0 bytes spilled, 0 + 10240 bytes shared{{$}}
// CHECK-NEXT: fp8_products_t32: 157 registers, 0 bytes spilled, 0 + 20480 bytes shared{{$}}
// CHECK-NEXT: fp8_products_t64: 227 registers, 0 bytes spilled, 0 + 40960 bytes shared{{$}}
// CHECK-NEXT: fp8_products_wgmma_fp8: 168 registers, 0 bytes spilled, 0 + 67648 bytes shared{{$}}
kernel.func @fp8_products(%x: !kernel.activation<14336, bf16>, %w: !lm.weight<4096x14336, fp8>, %y: !kernel.activation<4096, f32>, %e: !kernel.activation<14336, fp8>) {
  kernel.matmul %x : !kernel.activation<14336, bf16> weights(%w : !lm.weight<4096x14336, fp8>) outs(%y : !kernel.activation<4096, f32>) fp8(%e : !kernel.activation<14336, fp8>) attributes {aux_counts = array<i64: 0>, extent = #kernel.extent<tokens>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  kernel.return
}

// These kernels find ids from rows of logits.
// CHECK:      argmax: 22 registers, 0 bytes spilled, 64 + 0 bytes shared{{$}}
kernel.func @argmax(%l: !kernel.activation<128256, f32>, %k: !kernel.activation<1, key>) {
  kernel.argmax %l : !kernel.activation<128256, f32> keys %k : !kernel.activation<1, key>
  kernel.return
}
// CHECK-NEXT: argmax_finish: 12 registers, 0 bytes spilled, 0 + 0 bytes shared{{$}}
kernel.func @argmax_finish(%k: !kernel.activation<1, key>, %i: !kernel.activation<1, i32>) {
  kernel.argmax_finish %k : !kernel.activation<1, key> outs(%i : !kernel.activation<1, i32>)
  kernel.return
}
// CHECK-NEXT: draw_weigh: 30 registers, 0 bytes spilled, 12288 + 0 bytes shared{{$}}
kernel.func @draw_weigh(%l: !kernel.activation<128256, f32>, %k: !kernel.activation<1, key>, %s: !kernel.activation<16320, bytes>) {
  kernel.draw_weigh %l, %k : !kernel.activation<128256, f32>, !kernel.activation<1, key> sums %s : !kernel.activation<16320, bytes>
  kernel.return
}
// CHECK-NEXT: draw_ids: 79 registers, 0 bytes spilled, 20792 + 0 bytes shared{{$}}
kernel.func @draw_ids(%l: !kernel.activation<128256, f32>, %k: !kernel.activation<1, key>, %s: !kernel.activation<16320, bytes>, %i: !kernel.activation<1, i32>) {
  kernel.draw_ids %l, %k : !kernel.activation<128256, f32>, !kernel.activation<1, key> sums %s : !kernel.activation<16320, bytes> outs(%i : !kernel.activation<1, i32>)
  kernel.return
}
