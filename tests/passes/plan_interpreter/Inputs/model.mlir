// Two layers of one kind, as families import them: grouped queries, an MLP, quantised matrices, a tied head.
lm.model @model attributes {family = "test", vocab = 97 : i64, hidden = 64 : i64, max_positions = 128 : i64} {
  lm.weight @token_embd : !lm.weight<97x64, q8_0> {source = "token_embd"}
  lm.weight @output_norm : !lm.weight<64, f32> {source = "output_norm"}
  lm.weight @rope_freqs : !lm.weight<16, f32> {values = array<f32: 1.0, 0.56, 0.32, 0.18, 0.1, 0.056, 0.032, 0.018, 0.01, 0.0056, 0.0032, 0.0018, 0.001, 0.00056, 0.00032, 0.00018>}
  lm.weight @blk.0.attn_norm : !lm.weight<64, f32> {source = "blk.0.attn_norm"}
  lm.weight @blk.0.q : !lm.weight<128x64, q4_0> {source = "blk.0.q"}
  lm.weight @blk.0.k : !lm.weight<64x64, q4_0> {source = "blk.0.k"}
  lm.weight @blk.0.v : !lm.weight<64x64, q4_0> {source = "blk.0.v"}
  lm.weight @blk.0.o : !lm.weight<64x128, q4_0> {source = "blk.0.o"}
  lm.weight @blk.0.ffn_norm : !lm.weight<64, f32> {source = "blk.0.ffn_norm"}
  lm.weight @blk.0.gate : !lm.weight<96x64, q4_0> {source = "blk.0.gate"}
  lm.weight @blk.0.up : !lm.weight<96x64, q4_0> {source = "blk.0.up"}
  lm.weight @blk.0.down : !lm.weight<64x96, q4_0> {source = "blk.0.down"}
  lm.weight @blk.1.attn_norm : !lm.weight<64, f32> {source = "blk.1.attn_norm"}
  lm.weight @blk.1.q : !lm.weight<128x64, q4_0> {source = "blk.1.q"}
  lm.weight @blk.1.k : !lm.weight<64x64, q4_0> {source = "blk.1.k"}
  lm.weight @blk.1.v : !lm.weight<64x64, q4_0> {source = "blk.1.v"}
  lm.weight @blk.1.o : !lm.weight<64x128, q4_0> {source = "blk.1.o"}
  lm.weight @blk.1.ffn_norm : !lm.weight<64, f32> {source = "blk.1.ffn_norm"}
  lm.weight @blk.1.gate : !lm.weight<96x64, q4_0> {source = "blk.1.gate"}
  lm.weight @blk.1.up : !lm.weight<96x64, q4_0> {source = "blk.1.up"}
  lm.weight @blk.1.down : !lm.weight<64x96, q4_0> {source = "blk.1.down"}
  lm.state @kv.0 : #lm.paged<[k: 2x32, v: 2x32]>
  lm.state @kv.1 : #lm.paged<[k: 2x32, v: 2x32]>
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>, %b: !lm.batch,
                       %attn_norm: !lm.weight<64, f32> {lm.role = "attn_norm"}, %wq: !lm.weight<128x64, q4_0> {lm.role = "q"},
                       %wk: !lm.weight<64x64, q4_0> {lm.role = "k"}, %wv: !lm.weight<64x64, q4_0> {lm.role = "v"},
                       %f: !lm.weight<16, f32> {lm.role = "rope_freqs"}, %wo: !lm.weight<64x128, q4_0> {lm.role = "o"},
                       %ffn_norm: !lm.weight<64, f32> {lm.role = "ffn_norm"}, %gate: !lm.weight<96x64, q4_0> {lm.role = "gate"},
                       %up: !lm.weight<96x64, q4_0> {lm.role = "up"}, %down: !lm.weight<64x96, q4_0> {lm.role = "down"})
                       -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>) {
    %n = lm.rms_norm %x, %attn_norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %q = lm.linear %n, %wq : tensor<?x64xf32>, !lm.weight<128x64, q4_0> -> tensor<?x128xf32>
    %k = lm.linear %n, %wk : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %v = lm.linear %n, %wv : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %rq = lm.rope %q, %f, %b {heads = 4 : i64, style = #lm.rope_style<half>} : tensor<?x128xf32>, !lm.weight<16, f32>
    %rk = lm.rope %k, %f, %b {heads = 2 : i64, style = #lm.rope_style<half>} : tensor<?x64xf32>, !lm.weight<16, f32>
    %kv1 = lm.kv_append %rk, %v, %kv at %b : tensor<?x64xf32>, tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>
    %a = lm.attention %rq, %kv1, %b {heads = 4 : i64, scale = 0.17 : f32} : tensor<?x128xf32>, !lm.state<#lm.paged<[k: 2x32, v: 2x32]>> -> tensor<?x128xf32>
    %o = lm.linear %a, %wo : tensor<?x128xf32>, !lm.weight<64x128, q4_0> -> tensor<?x64xf32>
    %h = lm.add %x, %o : tensor<?x64xf32>
    %m = lm.rms_norm %h, %ffn_norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %g = lm.linear %m, %gate : tensor<?x64xf32>, !lm.weight<96x64, q4_0> -> tensor<?x96xf32>
    %u = lm.linear %m, %up : tensor<?x64xf32>, !lm.weight<96x64, q4_0> -> tensor<?x96xf32>
    %s = lm.activation silu %g : tensor<?x96xf32>
    %p = lm.mul %s, %u : tensor<?x96xf32>
    %d = lm.linear %p, %down : tensor<?x96xf32>, !lm.weight<64x96, q4_0> -> tensor<?x64xf32>
    %y = lm.add %h, %d : tensor<?x64xf32>
    lm.return %y, %kv1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x97xf32>, !lm.states) {
    %t = lm.get_weight @token_embd : !lm.weight<97x64, q8_0>
    %x = lm.embed %ids, %t : tensor<?xi32>, !lm.weight<97x64, q8_0> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer, @layer], states = [[@kv.0], [@kv.1]],
      weights = [[@blk.0.attn_norm, @blk.0.q, @blk.0.k, @blk.0.v, @rope_freqs, @blk.0.o, @blk.0.ffn_norm, @blk.0.gate, @blk.0.up, @blk.0.down],
                 [@blk.1.attn_norm, @blk.1.q, @blk.1.k, @blk.1.v, @rope_freqs, @blk.1.o, @blk.1.ffn_norm, @blk.1.gate, @blk.1.up, @blk.1.down]]}
      : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %norm = lm.get_weight @output_norm : !lm.weight<64, f32>
    %z = lm.rms_norm %r, %norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %l = lm.linear %z, %t : tensor<?x64xf32>, !lm.weight<97x64, q8_0> -> tensor<?x97xf32>
    lm.return %l, %kv1 : tensor<?x97xf32>, !lm.states
  }
}
