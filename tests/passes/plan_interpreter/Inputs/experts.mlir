// One layer of experts, chosen by scores with a bias, next to a projection whose rows a gate of one value scales.
lm.model @model attributes {family = "t", vocab = 97 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<97x64, q8_0> {source = "embd"}
  lm.weight @norm : !lm.weight<64, f32> {source = "norm"}
  lm.weight @router : !lm.weight<6x64, f32> {source = "router"}
  lm.weight @chosen : !lm.weight<6, f32> {source = "chosen"}
  lm.weight @gate : !lm.weight<6x32x64, q4_0> {source = #lm.rows<"gate_up" matrix 0 [32], "gate_up" matrix 1 [32], "gate_up" matrix 2 [32], "gate_up" matrix 3 [32], "gate_up" matrix 4 [32], "gate_up" matrix 5 [32]>}
  lm.weight @up : !lm.weight<6x32x64, q4_0> {source = #lm.rows<"gate_up" matrix 0 from 32 [32], "gate_up" matrix 1 from 32 [32], "gate_up" matrix 2 from 32 [32], "gate_up" matrix 3 from 32 [32], "gate_up" matrix 4 from 32 [32], "gate_up" matrix 5 from 32 [32]>}
  lm.weight @down : !lm.weight<6x64x32, q4_0> {source = "down"}
  lm.weight @bias : !lm.weight<6x64x1, f32> {source = "bias"}
  lm.weight @shared : !lm.weight<64x64, q4_0> {source = "shared"}
  lm.weight @open : !lm.weight<1x64, f32> {source = "open"}
  lm.layer_kind @layer(%h: tensor<?x64xf32>, %b: !lm.batch, %norm: !lm.weight<64, f32> {lm.role = "norm"}, %router: !lm.weight<6x64, f32> {lm.role = "router"}, %chosen: !lm.weight<6, f32> {lm.role = "chosen"}, %gate: !lm.weight<6x32x64, q4_0> {lm.role = "gate"}, %up: !lm.weight<6x32x64, q4_0> {lm.role = "up"}, %down: !lm.weight<6x64x32, q4_0> {lm.role = "down"}, %bias: !lm.weight<6x64x1, f32> {lm.role = "bias"}, %shared: !lm.weight<64x64, q4_0> {lm.role = "shared"}, %open: !lm.weight<1x64, f32> {lm.role = "open"}) -> tensor<?x64xf32> {
    %n = lm.rms_norm %h, %norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %n, %router : tensor<?x64xf32>, !lm.weight<6x64, f32> -> tensor<?x6xf32>
    %r = lm.route %scores select %chosen : !lm.weight<6, f32> {score = #lm.score<sigmoid>, normalize = #lm.normalize<sum>} : tensor<?x6xf32> -> !lm.routes<6, 2>
    %x = lm.dispatch %n to %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %g = lm.linear %x, %gate of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %u = lm.linear %x, %up of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %a = lm.activation silu %g : tensor<?x32xf32>
    %gu = lm.mul %a, %u : tensor<?x32xf32>
    %d = lm.linear %gu, %down, %bias : !lm.weight<6x64x1, f32> of %r : !lm.routes<6, 2> : tensor<?x32xf32>, !lm.weight<6x64x32, q4_0> -> tensor<?x64xf32>
    %c = lm.combine %d by %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %s = lm.linear %n, %shared : tensor<?x64xf32>, !lm.weight<64x64, q4_0> -> tensor<?x64xf32>
    %o = lm.linear %n, %open : tensor<?x64xf32>, !lm.weight<1x64, f32> -> tensor<?x1xf32>
    %os = lm.activation sigmoid %o : tensor<?x1xf32>
    %part = lm.scale_rows %s, %os : tensor<?x64xf32>, tensor<?x1xf32>
    %f = lm.add %c, %part : tensor<?x64xf32>
    %h1 = lm.add %h, %f : tensor<?x64xf32>
    lm.return %h1 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x97xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<97x64, q8_0>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<97x64, q8_0> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@layer], states = [[]], weights = [[@norm, @router, @chosen, @gate, @up, @down, @bias, @shared, @open]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %t = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %t, %e : tensor<?x64xf32>, !lm.weight<97x64, q8_0> -> tensor<?x97xf32>
    lm.return %l, %s1 : tensor<?x97xf32>, !lm.states
  }
}
