// Experts with column orders: gate and up share theirs in one layer and have different ones in the other; down and the
// head have others.
lm.model @model attributes {family = "t", vocab = 97 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<97x64, q8_0> {source = "embd"}
  lm.weight @norm : !lm.weight<64, f32> {source = "norm"}
  lm.weight @router : !lm.weight<6x64, f32> {source = "router"}
  lm.weight @gate : !lm.weight<6x32x64, q4_0> {source = "gate"}
  lm.weight @up : !lm.weight<6x32x64, q4_0> {source = "up"}
  lm.weight @down : !lm.weight<6x64x32, q4_0> {source = "down"}
  lm.weight @output : !lm.weight<97x64, q4_0> {source = "output"}
  lm.weight @up_columns : !lm.weight<384, f32> {values = array<f32: 18., 61., 54., 59., 20., 12., 46., 38., 28., 39., 55., 31., 8., 48., 16., 9., 51., 5., 52., 40., 21., 37., 45., 27., 14., 35., 19., 4., 2., 25., 63., 57., 42., 11., 17., 26., 13., 0., 43., 36., 6., 34., 24., 60., 30., 23., 7., 10., 3., 56., 15., 49., 29., 58., 1., 33., 41., 62., 53., 44., 50., 22., 47., 32., 51., 10., 13., 17., 2., 32., 15., 35., 28., 50., 31., 9., 29., 58., 12., 8., 41., 54., 40., 27., 7., 39., 6., 47., 5., 36., 34., 14., 55., 33., 63., 24., 23., 26., 56., 25., 48., 1., 62., 3., 53., 42., 46., 11., 20., 44., 30., 49., 22., 59., 61., 60., 45., 43., 57., 0., 37., 38., 52., 19., 21., 4., 16., 18., 14., 36., 1., 12., 8., 24., 47., 33., 28., 7., 31., 63., 27., 17., 0., 37., 54., 21., 57., 32., 13., 56., 49., 18., 23., 4., 6., 41., 45., 42., 53., 39., 48., 50., 26., 29., 16., 22., 15., 2., 25., 60., 38., 52., 3., 10., 30., 55., 61., 46., 9., 40., 62., 51., 11., 58., 20., 43., 19., 5., 34., 44., 59., 35., 12., 3., 28., 29., 1., 43., 39., 20., 59., 54., 13., 6., 30., 50., 38., 42., 26., 41., 56., 63., 14., 62., 45., 10., 8., 58., 36., 15., 0., 27., 33., 51., 61., 18., 16., 49., 48., 46., 44., 19., 2., 37., 22., 4., 23., 47., 35., 32., 17., 53., 5., 55., 21., 31., 40., 11., 34., 52., 24., 7., 9., 57., 25., 60., 34., 25., 8., 62., 23., 9., 20., 22., 27., 29., 16., 21., 0., 53., 48., 7., 24., 57., 50., 36., 51., 13., 43., 63., 6., 15., 60., 32., 31., 4., 47., 3., 41., 45., 30., 2., 38., 14., 11., 28., 52., 55., 12., 1., 17., 40., 35., 54., 19., 56., 58., 33., 37., 49., 39., 10., 26., 59., 42., 46., 5., 44., 18., 61., 50., 27., 2., 16., 11., 3., 1., 47., 14., 49., 17., 35., 33., 4., 48., 59., 39., 58., 19., 55., 42., 31., 15., 7., 25., 13., 40., 57., 28., 60., 45., 46., 20., 6., 43., 0., 56., 5., 44., 54., 63., 30., 51., 24., 38., 10., 9., 29., 23., 61., 41., 36., 53., 26., 8., 52., 22., 62., 37., 21., 32., 34., 18., 12.>}
  lm.weight @gate_columns : !lm.weight<384, f32> {values = array<f32: 13., 37., 8., 33., 36., 19., 27., 44., 47., 49., 55., 28., 39., 11., 26., 59., 40., 53., 45., 0., 60., 50., 5., 38., 31., 34., 14., 32., 46., 21., 25., 48., 51., 57., 61., 1., 3., 20., 54., 22., 42., 52., 2., 15., 43., 18., 56., 17., 7., 16., 35., 58., 30., 24., 23., 4., 10., 63., 9., 12., 6., 62., 29., 41., 50., 7., 34., 11., 23., 55., 40., 57., 24., 48., 56., 18., 42., 44., 58., 19., 12., 16., 37., 62., 21., 52., 20., 9., 14., 13., 51., 8., 54., 1., 32., 25., 59., 45., 39., 53., 30., 5., 31., 15., 4., 6., 22., 36., 33., 35., 47., 61., 10., 63., 43., 49., 28., 3., 29., 0., 17., 46., 27., 38., 41., 2., 60., 26., 57., 41., 53., 18., 42., 58., 23., 21., 26., 50., 59., 45., 17., 4., 60., 54., 12., 10., 13., 2., 3., 11., 9., 6., 32., 29., 47., 22., 31., 1., 38., 37., 63., 61., 15., 51., 43., 34., 39., 55., 20., 25., 16., 5., 30., 52., 56., 7., 35., 14., 28., 44., 19., 48., 0., 46., 8., 40., 33., 24., 49., 36., 27., 62., 15., 46., 26., 28., 23., 48., 17., 9., 21., 40., 32., 59., 44., 29., 12., 13., 33., 45., 37., 49., 50., 39., 25., 54., 47., 5., 0., 30., 53., 62., 11., 38., 36., 14., 41., 60., 27., 22., 52., 3., 7., 42., 1., 58., 63., 55., 2., 18., 56., 43., 31., 16., 57., 10., 19., 4., 20., 8., 35., 24., 61., 51., 6., 34., 41., 27., 16., 50., 10., 9., 57., 18., 5., 56., 24., 14., 58., 49., 39., 46., 61., 32., 42., 20., 4., 11., 63., 48., 37., 1., 28., 21., 55., 7., 53., 34., 23., 47., 44., 33., 35., 19., 40., 17., 12., 51., 29., 25., 22., 45., 30., 15., 36., 2., 59., 13., 3., 43., 26., 54., 52., 8., 6., 0., 38., 31., 62., 60., 16., 21., 62., 14., 36., 56., 17., 50., 40., 53., 5., 4., 10., 15., 12., 60., 27., 7., 8., 42., 45., 46., 22., 31., 49., 57., 47., 29., 0., 2., 41., 18., 13., 33., 51., 23., 26., 9., 44., 3., 35., 59., 28., 25., 34., 30., 48., 55., 61., 19., 58., 54., 43., 20., 63., 24., 52., 11., 39., 37., 38., 32., 6., 1.>}
  lm.weight @down_columns : !lm.weight<192, f32> {values = array<f32: 21., 28., 3., 24., 6., 5., 30., 20., 16., 10., 14., 11., 2., 13., 27., 18., 19., 29., 23., 7., 8., 22., 17., 31., 0., 12., 26., 4., 25., 1., 9., 15., 12., 2., 26., 5., 21., 6., 25., 15., 3., 13., 24., 27., 7., 8., 29., 28., 1., 4., 18., 20., 11., 14., 0., 16., 23., 30., 31., 10., 22., 17., 9., 19., 1., 10., 29., 30., 16., 17., 3., 31., 12., 5., 20., 8., 11., 7., 28., 4., 19., 15., 22., 18., 13., 0., 26., 2., 24., 14., 9., 6., 23., 27., 21., 25., 5., 8., 28., 16., 6., 14., 20., 22., 19., 4., 30., 11., 18., 24., 9., 7., 31., 3., 1., 15., 12., 27., 13., 23., 10., 0., 21., 29., 25., 2., 26., 17., 6., 19., 29., 11., 24., 14., 16., 25., 15., 20., 7., 9., 10., 5., 22., 31., 0., 4., 26., 28., 27., 18., 30., 8., 2., 23., 12., 21., 3., 17., 1., 13., 20., 29., 13., 21., 3., 6., 23., 26., 18., 15., 19., 25., 1., 28., 10., 0., 22., 5., 12., 31., 11., 27., 4., 16., 9., 24., 30., 7., 17., 2., 8., 14.>}
  lm.weight @output_columns : !lm.weight<64, f32> {values = array<f32: 51., 38., 4., 26., 32., 28., 10., 19., 29., 48., 49., 36., 58., 17., 0., 23., 53., 2., 12., 55., 60., 44., 37., 57., 16., 11., 59., 30., 25., 52., 62., 35., 45., 56., 40., 41., 21., 18., 15., 22., 54., 39., 8., 13., 31., 42., 5., 7., 47., 14., 43., 27., 9., 3., 24., 46., 34., 1., 33., 50., 6., 20., 63., 61.>}
  lm.layer_kind @layer(%h: tensor<?x64xf32>, %b: !lm.batch, %norm: !lm.weight<64, f32> {lm.role = "norm"}, %router: !lm.weight<6x64, f32> {lm.role = "router"}, %gate: !lm.weight<6x32x64, q4_0> {lm.role = "gate"}, %up: !lm.weight<6x32x64, q4_0> {lm.role = "up"}, %down: !lm.weight<6x64x32, q4_0> {lm.role = "down"}, %uc: !lm.weight<384, f32> {lm.role = "up_columns"}, %dc: !lm.weight<192, f32> {lm.role = "down_columns"}) -> tensor<?x64xf32> {
    %n = lm.rms_norm %h, %norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %n, %router : tensor<?x64xf32>, !lm.weight<6x64, f32> -> tensor<?x6xf32>
    %r = lm.route %scores {normalize = #lm.normalize<sum>} : tensor<?x6xf32> -> !lm.routes<6, 2>
    %x = lm.dispatch %n to %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %o = lm.permute %x by %uc of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<384, f32>
    %g = lm.linear %o, %gate of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %u = lm.linear %o, %up of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %a = lm.activation silu %g : tensor<?x32xf32>
    %gu = lm.mul %a, %u : tensor<?x32xf32>
    %go = lm.permute %gu by %dc of %r : !lm.routes<6, 2> : tensor<?x32xf32>, !lm.weight<192, f32>
    %d = lm.linear %go, %down of %r : !lm.routes<6, 2> : tensor<?x32xf32>, !lm.weight<6x64x32, q4_0> -> tensor<?x64xf32>
    %c = lm.combine %d by %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %h1 = lm.add %h, %c : tensor<?x64xf32>
    lm.return %h1 : tensor<?x64xf32>
  }
  lm.layer_kind @apart(%h: tensor<?x64xf32>, %b: !lm.batch, %norm: !lm.weight<64, f32> {lm.role = "norm"}, %router: !lm.weight<6x64, f32> {lm.role = "router"}, %gate: !lm.weight<6x32x64, q4_0> {lm.role = "gate"}, %up: !lm.weight<6x32x64, q4_0> {lm.role = "up"}, %down: !lm.weight<6x64x32, q4_0> {lm.role = "down"}, %uc: !lm.weight<384, f32> {lm.role = "up_columns"}, %dc: !lm.weight<192, f32> {lm.role = "down_columns"}, %gc: !lm.weight<384, f32> {lm.role = "gate_columns"}) -> tensor<?x64xf32> {
    %n = lm.rms_norm %h, %norm {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %scores = lm.linear %n, %router : tensor<?x64xf32>, !lm.weight<6x64, f32> -> tensor<?x6xf32>
    %r = lm.route %scores {normalize = #lm.normalize<sum>} : tensor<?x6xf32> -> !lm.routes<6, 2>
    %x = lm.dispatch %n to %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %o = lm.permute %x by %uc of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<384, f32>
    %p = lm.permute %x by %gc of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<384, f32>
    %g = lm.linear %p, %gate of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %u = lm.linear %o, %up of %r : !lm.routes<6, 2> : tensor<?x64xf32>, !lm.weight<6x32x64, q4_0> -> tensor<?x32xf32>
    %a = lm.activation silu %g : tensor<?x32xf32>
    %gu = lm.mul %a, %u : tensor<?x32xf32>
    %go = lm.permute %gu by %dc of %r : !lm.routes<6, 2> : tensor<?x32xf32>, !lm.weight<192, f32>
    %d = lm.linear %go, %down of %r : !lm.routes<6, 2> : tensor<?x32xf32>, !lm.weight<6x64x32, q4_0> -> tensor<?x64xf32>
    %c = lm.combine %d by %r : tensor<?x64xf32>, !lm.routes<6, 2>
    %h1 = lm.add %h, %c : tensor<?x64xf32>
    lm.return %h1 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %s: !lm.states, %b: !lm.batch) -> (tensor<?x97xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<97x64, q8_0>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<97x64, q8_0> -> tensor<?x64xf32>
    %y, %s1 = lm.layers %x, %s, %b {kinds = [@layer, @apart], states = [[], []], weights = [[@norm, @router, @gate, @up, @down, @up_columns, @down_columns], [@norm, @router, @gate, @up, @down, @up_columns, @down_columns, @gate_columns]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %t = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %w = lm.get_weight @norm : !lm.weight<64, f32>
    %tn = lm.rms_norm %t, %w {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    %oc = lm.get_weight @output_columns : !lm.weight<64, f32>
    %to = lm.permute %tn by %oc : tensor<?x64xf32>, !lm.weight<64, f32>
    %ow = lm.get_weight @output : !lm.weight<97x64, q4_0>
    %l = lm.linear %to, %ow : tensor<?x64xf32>, !lm.weight<97x64, q4_0> -> tensor<?x97xf32>
    lm.return %l, %s1 : tensor<?x97xf32>, !lm.states
  }
}
