// Matrices inside layers get the requested format, and those that the entry reads get int8. Vectors and quantised
// weights keep their formats.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-quantize-weights{format=int4_g64}))' | FileCheck %s
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-quantize-weights{format=q2}))' 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: cannot quantise to 'q2': expects int8, int4_g32, int4_g64, int4_g128, fp8 or bf16

// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-quantize-weights{format=fp8 rules=q:fp8}))' | FileCheck %s --check-prefix=FP8

// FP8: lm.weight @embd : !lm.weight<40x64, int8>
// FP8: lm.weight @w : !lm.weight<64x64, fp8> {source = "w", stored = #lm.format<bf16>}
// FP8: lm.weight @q : !lm.weight<64x64, fp8> {source = "q", stored = #lm.format<q4_0>}

// CHECK: lm.weight @embd : !lm.weight<40x64, int8> {source = "embd", stored = #lm.format<f16>}
// CHECK: lm.weight @w : !lm.weight<64x64, int4_g64> {source = "w", stored = #lm.format<bf16>}
// CHECK: lm.weight @q : !lm.weight<64x64, q4_0> {source = "q"}
// CHECK: lm.weight @n : !lm.weight<64, f32> {source = "n"}
// CHECK: lm.layer_kind @layer({{.*}}!lm.weight<64x64, int4_g64> {lm.role = "w"}, {{.*}}!lm.weight<64x64, q4_0>
// CHECK: lm.linear {{.*}} <64x64, int4_g64>
// CHECK: lm.get_weight @embd : <40x64, int8>

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w : !lm.weight<64x64, bf16> {source = "w"}
  lm.weight @q : !lm.weight<64x64, q4_0> {source = "q"}
  lm.weight @n : !lm.weight<64, f32> {source = "n"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, bf16> {lm.role = "w"}, %q: !lm.weight<64x64, q4_0> {lm.role = "q"}, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, bf16> -> tensor<?x64xf32>
    %1 = lm.linear %0, %q : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %2 = lm.rms_norm %1, %n {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %2 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[]], weights = [[@w, @q, @n]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
