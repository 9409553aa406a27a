// One layer with a state of fixed size: a short convolution between two gates, as LFM2 has them.
lm.model @model attributes {family = "test", vocab = 97 : i64, hidden = 64 : i64, max_positions = 128 : i64} {
  lm.weight @token_embd : !lm.weight<97x64, q8_0> {source = "token_embd"}
  lm.weight @output_norm : !lm.weight<64, f32> {source = "output_norm"}
  lm.weight @norm : !lm.weight<64, f32> {source = "norm"}
  lm.weight @in_b : !lm.weight<64x64, q4_0> {source = "in_b"}
  lm.weight @in_c : !lm.weight<64x64, q4_0> {source = "in_c"}
  lm.weight @in_x : !lm.weight<64x64, q4_0> {source = "in_x"}
  lm.weight @taps : !lm.weight<192, f32> {source = "taps"}
  lm.weight @out : !lm.weight<64x64, q4_0> {source = "out"}
  lm.state @conv.0 : #lm.fixed<[x: 2x64 x f32]>
  lm.layer_kind @conv(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch,
                      %norm: !lm.weight<64, f32> {lm.role = "norm"}, %wb: !lm.weight<64x64, q4_0> {lm.role = "in_b"},
                      %wc: !lm.weight<64x64, q4_0> {lm.role = "in_c"}, %wx: !lm.weight<64x64, q4_0> {lm.role = "in_x"},
                      %taps: !lm.weight<192, f32> {lm.role = "taps"}, %wo: !lm.weight<64x64, q4_0> {lm.role = "out"})
                      -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>) {
    %n = lm.rms_norm %x, %norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %gb = lm.linear %n, %wb : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %gc = lm.linear %n, %wc : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %gx = lm.linear %n, %wx : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %m = lm.mul %gb, %gx : tensor<?x64xf32>
    %c, %s1 = lm.causal_conv %m, %taps over %s at %b : tensor<?x64xf32>, !lm.weight<192, f32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
    %g = lm.mul %gc, %c : tensor<?x64xf32>
    %o = lm.linear %g, %wo : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %y = lm.add %x, %o : tensor<?x64xf32>
    lm.return %y, %s1 : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x97xf32>, !lm.states) {
    %t = lm.get_weight @token_embd : !lm.weight<97x64, q8_0>
    %x = lm.embed %ids, %t : tensor<?xi32>, !lm.weight<97x64, q8_0> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@conv], states = [[@conv.0]],
      weights = [[@norm, @in_b, @in_c, @in_x, @taps, @out]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %norm = lm.get_weight @output_norm : !lm.weight<64, f32>
    %z = lm.rms_norm %r, %norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %l = lm.linear %z, %t : tensor<?x64xf32>, !lm.weight<97x64, q8_0> -> tensor<?x97xf32>
    lm.return %l, %s1 : tensor<?x97xf32>, !lm.states
  }
}
