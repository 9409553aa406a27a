// Each value has the encodings that its consumers read. Its producer writes them if the producer's kernel can,
// otherwise another launch converts the value. f32 rows that nothing reads are not written.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-choose-encodings))' | FileCheck %s
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-choose-encodings{precision=exact}))' | FileCheck %s --check-prefix=EXACT
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-choose-encodings{device=cuda fp8-rows=true}))' | FileCheck %s --check-prefix=CUDA
// RUN: not ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-choose-encodings{device=none}))' 2>&1 | FileCheck %s --check-prefix=DEVICE

// No launch of this layer can round the output of the previous layer.
// CHECK:      lm.layer_kind @layer(%[[X:.*]]: tensor<?x64xf32>, %{{.*}}: !lm.batch
// CHECK-NEXT:   %[[XQ:.*]] = lm.cast %[[X]] : tensor<?x64xf32> -> tensor<?x64xf32, "q8">
// CHECK-NEXT:   %[[A:.*]] = lm.linear %[[XQ]]
// A sum and a projection with integer weights read this value, so it has both encodings.
// CHECK-NEXT:   %[[N:.*]]:2 = lm.fused "norm" -> tensor<?x64xf32>, tensor<?x64xf32, "q8"> {
// CHECK-NEXT:     %[[NORM:.*]] = lm.rms_norm %[[A]]
// CHECK-NEXT:     %[[ROUND:.*]] = lm.cast %[[NORM]]
// CHECK-NEXT:     lm.yield %[[NORM]], %[[ROUND]]
// CHECK-NEXT:   }
// The result of this region is only read in rounded form, so the region has no f32 result.
// CHECK-NEXT:   %[[G:.*]] = lm.fused "gate_up" -> tensor<?x64xf32, "q8"> {
// CHECK-COUNT-2:  lm.linear %[[N]]#1
// CHECK:          %[[M:.*]] = lm.mul
// CHECK-NEXT:     lm.cast %[[M]]
// CHECK:        }
// A projection writes a single encoding. Its rows are also read as f32, so another launch converts them.
// CHECK:        %[[P:.*]] = lm.linear %[[G]]
// CHECK-NEXT:   %[[PQ:.*]] = lm.cast %[[P]]
// Float weights read f32.
// CHECK-NEXT:   %[[F:.*]] = lm.linear %[[P]], %{{.*}} : tensor<?x64xf32>, <64x64, fp8>
// CHECK-NEXT:   %[[Q:.*]] = lm.linear %[[PQ]]
// CHECK-NEXT:   %[[S:.*]] = lm.add %[[N]]#0, %[[F]]
// CHECK-NEXT:   lm.add %[[S]], %[[Q]]
// The head's rows have two planes.
// CHECK:      lm.entry
// CHECK:        %[[R:.*]] = lm.fused "select_rows" -> tensor<?x64xf32, "q8x2"> {
// CHECK:        lm.linear %[[R]]

// EXACT-NOT: lm.cast

// All projections read bf16, and those with fp8 weights also fp8 rows, which are made before the first such projection.
// CUDA:      lm.layer_kind @layer(%[[X:.*]]: tensor<?x64xf32>, %{{.*}}: !lm.batch
// CUDA-NEXT:   lm.cast %[[X]] : tensor<?x64xf32> -> tensor<?x64xf32, "bf16">
// CUDA:        lm.fused "norm" -> tensor<?x64xf32>, tensor<?x64xf32, "bf16"> {
// CUDA:        lm.fused "gate_up" -> tensor<?x64xf32, "bf16"> {
// CUDA:        %[[P:.*]] = lm.fused "linear" -> tensor<?x64xf32, "bf16"> {
// CUDA:        }
// CUDA-NEXT:   %[[P8:.*]] = lm.cast %[[P]] : tensor<?x64xf32, "bf16"> -> tensor<?x64xf32, "fp8">
// CUDA-NEXT:   lm.linear %[[P8]]
// CUDA-NEXT:   lm.linear %[[P]]

// DEVICE: for the --device option: expects one of cpu cuda, got none

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, q8_0> {source = "embd"}
  lm.weight @n : !lm.weight<64, f32> {source = "n"}
  lm.weight @w : !lm.weight<64x64, q4_0> {source = "w"}
  lm.weight @e : !lm.weight<64x64, fp8> {source = "e"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}, %w: !lm.weight<64x64, q4_0> {lm.role = "w"}, %e: !lm.weight<64x64, fp8> {lm.role = "e"}) -> tensor<?x64xf32> {
    %a = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %m = lm.rms_norm %a, %n {eps = 1.0e-6 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %g = lm.fused "gate_up" -> tensor<?x64xf32> {
      %0 = lm.linear %m, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
      %1 = lm.linear %m, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
      %2 = lm.activation silu %0 : tensor<?x64xf32>
      %3 = lm.mul %2, %1 : tensor<?x64xf32>
      lm.yield %3 : tensor<?x64xf32>
    }
    %p = lm.linear %g, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %f = lm.linear %p, %e : tensor<?x64xf32>, !lm.weight<64x64, fp8> -> tensor<?x64xf32>
    %q = lm.linear %p, %w : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %s = lm.add %m, %f : tensor<?x64xf32>
    %y = lm.add %s, %q : tensor<?x64xf32>
    lm.return %y : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %w = lm.get_weight @embd : !lm.weight<40x64, q8_0>
    %x = lm.embed %ids, %w : tensor<?xi32>, !lm.weight<40x64, q8_0> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[]], weights = [[@n, @w, @e]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %w : tensor<?x64xf32>, !lm.weight<40x64, q8_0> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}
