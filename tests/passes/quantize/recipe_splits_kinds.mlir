// Rules of a recipe match weight names. Layers of one kind whose weight formats then differ get separate kinds.
// RUN: ingot-opt %s --pass-pipeline='builtin.module(lm.model(lm-quantize-weights{rules=w0:int8,w*:int4_g32}))' | FileCheck %s

// CHECK: lm.weight @w0 : !lm.weight<64x64, int8> {source = "w0", stored = #lm.format<bf16>}
// CHECK: lm.weight @w1 : !lm.weight<64x64, int4_g32>
// CHECK: lm.weight @w2 : !lm.weight<64x64, int4_g32>
// CHECK: lm.layer_kind @layer({{.*}}!lm.weight<64x64, int8>
// CHECK: lm.layer_kind @[[OTHER:layer_[0-9]+]]({{.*}}!lm.weight<64x64, int4_g32>
// CHECK: lm.layers {{.*}}kinds = [@layer, @[[OTHER]], @[[OTHER]]]
lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @w0 : !lm.weight<64x64, bf16> {source = "w0"}
  lm.weight @w1 : !lm.weight<64x64, bf16> {source = "w1"}
  lm.weight @w2 : !lm.weight<64x64, bf16> {source = "w2"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x64, bf16> {lm.role = "w"}) -> tensor<?x64xf32> {
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<64x64, bf16> -> tensor<?x64xf32>
    lm.return %0 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer, @layer, @layer], states = [[], [], []], weights = [[@w0], [@w1], [@w2]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %kv1 : tensor<?x64xf32>, !lm.states
  }
}
