// Each constraint of SPEC.md is broken once.
// RUN: ingot-opt %s -split-input-file -verify-diagnostics

// model_c1
// expected-error @+1 {{expects at most one lm.entry, got 2}}
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.entry @f(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// weight_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects values to fill an f32 vector of 2 values}}
  lm.weight @bad : !lm.weight<2, f32> {values = array<f32: 1.0>}
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// weight_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects a source tensor or values}}
  lm.weight @bad : !lm.weight<2, f32>
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// weight_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects a vector to be of a float format}}
  lm.weight @bad : !lm.weight<32, q4_0> {source = "b"}
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// weight_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects 32 rows, its source has 24}}
  lm.weight @bad : !lm.weight<32x64, q4_0> {source = #lm.rows<"b" from 2 [3 by 9, 8]>}
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rows_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects the name of a tensor}}
  lm.weight @bad : !lm.weight<32x64, q4_0> {source = #lm.rows<"b" from -2 [32]>}
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rows_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects loops of counts and strides from 1 on}}
  lm.weight @bad : !lm.weight<32x64, q4_0> {source = #lm.rows<"b" [32 by 0]>}
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rows_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects rows that are not one whole tensor}}
  lm.weight @bad : !lm.weight<32x64, q4_0> {source = #lm.rows<"b">}
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rows_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects factors of columns to begin with the first}}
  lm.weight @bad : !lm.weight<32x64, f32> {source = #lm.rows<"b" columns by "n" at 2>}
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_kind_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects arguments (tensor<?xHxf32>, states…, !lm.batch, weights}}
  lm.layer_kind @bad(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_kind_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects argument #2 to be a weight, got 'f32'}}
  lm.layer_kind @bad(%x: tensor<?x64xf32>, %b: !lm.batch, %w: f32) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_kind_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects argument #2 to carry its role}}
  lm.layer_kind @bad(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64, f32>) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_kind_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects results ('tensor<?x64xf32>'), the types of x and of its states}}
  lm.layer_kind @bad(%x: tensor<?x64xf32>, %b: !lm.batch) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    lm.return %x, %x : tensor<?x64xf32>, tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rms_norm_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects heads to divide the width 64, got 3}}
    %0 = lm.rms_norm %x, %n {eps = 1.0e-5 : f32, heads = 3 : i64} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rms_norm_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<16, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects the weight to be a float vector of 32 values}}
    %0 = lm.rms_norm %x, %f {eps = 1.0e-5 : f32, heads = 2 : i64} : tensor<?x64xf32>, !lm.weight<16, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_norm_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %f: !lm.weight<32, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects the weight to be a float vector of 64 values}}
    %0 = lm.layer_norm %x, %f {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<32, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_norm_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %f: !lm.weight<32, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects the bias to be a float vector of 64 values}}
    %0 = lm.layer_norm %x, %n, %f : !lm.weight<32, f32> {eps = 1.0e-5 : f32} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_norm_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %f: !lm.weight<32, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects heads to divide the width 64, got 3}}
    %0 = lm.layer_norm %x, %n {eps = 1.0e-5 : f32, heads = 3 : i64} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layer_norm_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %f: !lm.weight<32, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects heads to have no bias}}
    %0 = lm.layer_norm %x, %n, %f : !lm.weight<32, f32> {eps = 1.0e-5 : f32, heads = 2 : i64} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// linear_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    %h = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<32x64, q4_0> -> tensor<?x32xf32>
    // expected-error @+1 {{expects x of 64 values}}
    %0 = lm.linear %h, %w : tensor<?x32xf32>, !lm.weight<32x64, q4_0> -> tensor<?x32xf32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// linear_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects a result of 32 values}}
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<32x64, q4_0> -> tensor<?x64xf32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// linear_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects the bias to be a float vector of 32 values}}
    %0 = lm.linear %x, %w, %n : !lm.weight<64, f32> : tensor<?x64xf32>, !lm.weight<32x64, q4_0> -> tensor<?x32xf32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rope_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects heads to divide the width 64, got 5}}
    %0 = lm.rope %x, %f, %b {heads = 5 : i64, style = #lm.rope_style<half>} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// rope_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects at most 32 frequencies}}
    %0 = lm.rope %x, %f, %b {heads = 1 : i64, style = #lm.rope_style<half>} : tensor<?x64xf32>, !lm.weight<64, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// scale_by_position_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %f: !lm.weight<4x64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects an f32 vector of factors}}
    %0 = lm.scale_by_position %x, %f, %b {period = 4 : i64} : tensor<?x64xf32>, !lm.weight<4x64, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// scale_by_position_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %f: !lm.weight<4, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects a period of 1 or more positions}}
    %0 = lm.scale_by_position %x, %f, %b {period = 0 : i64} : tensor<?x64xf32>, !lm.weight<4, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// permute_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %f: !lm.weight<32, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects a column for each of 64 values}}
    %0 = lm.permute %x by %f : tensor<?x64xf32>, !lm.weight<32, f32>
    lm.return %0 : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// embed_positions_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %f: !lm.weight<8x32, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects rows of 32 values}}
    %0 = lm.embed_positions %f, %b : !lm.weight<8x32, f32> -> tensor<?x64xf32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// xielu_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %f: !lm.weight<32, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects vectors of 64 values}}
    %0 = lm.xielu %x, %f, %f, %f : tensor<?x64xf32>, !lm.weight<32, f32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// kv_append_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>) {
    // expected-error @+1 {{expects a paged state of keys and values of one shape}}
    %0 = lm.kv_append %x, %x, %kv at %b : tensor<?x64xf32>, tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
    lm.return %x, %kv : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// kv_append_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 3x21, v: 3x21]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x21, v: 3x21]>>) {
    // expected-error @+1 {{expects k and v of 63 values}}
    %0 = lm.kv_append %x, %x, %kv at %b : tensor<?x64xf32>, tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x21, v: 3x21]>>
    lm.return %x, %kv : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x21, v: 3x21]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// attention_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 3x16, v: 3x16]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x16, v: 3x16]>>) {
    // expected-error @+1 {{expects the KV heads to divide heads, got 3 and 4}}
    %0 = lm.attention %x, %kv, %b {heads = 4 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x16, v: 3x16]>> -> tensor<?x64xf32>
    lm.return %x, %kv : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x16, v: 3x16]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// attention_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x32]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x32]>>) {
    // expected-error @+1 {{expects a paged state of keys and values of one shape}}
    %0 = lm.attention %x, %kv, %b {heads = 4 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x32]>> -> tensor<?x64xf32>
    lm.return %x, %kv : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// attention_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 3x16, v: 3x16]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x16, v: 3x16]>>) {
    // expected-error @+1 {{expects q of 3 heads of 16 values}}
    %0 = lm.attention %x, %kv, %b {heads = 3 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x16, v: 3x16]>> -> tensor<?x64xf32>
    lm.return %x, %kv : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 3x16, v: 3x16]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// attention_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>) {
    // expected-error @+1 {{expects a window of 0 (all positions) or more}}
    %0 = lm.attention %x, %kv, %b {heads = 4 : i64, scale = 1.0 : f32, window = -1 : i64} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>> -> tensor<?x64xf32>
    lm.return %x, %kv : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// fused_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"},
                   %w: !lm.weight<32x64, q4_0> {lm.role = "w"}, %f: !lm.weight<64, f32> {lm.role = "f"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects its region to yield the types of its results}}
    %0 = lm.fused "g" -> tensor<?x32xf32> {
      lm.yield %x : tensor<?x64xf32>
    }
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{expects a kind, a list of states and one of weights for each layer, got 1, 2 and 1}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@k], states = [[], []], weights = [[@v]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{expects lists of weight and state symbols}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@k], states = [[]], weights = [@v]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{names no layer kind: @nobody}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@nobody], states = [[]], weights = [[@v]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c5
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{layer 0 passes 2 weights, @k takes 1}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@k], states = [[]], weights = [[@v, @v]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c6
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{layer 0 expects @v to be a weight of type}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@k], states = [[]], weights = [[@v]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c7
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.state @s : #lm.fixed<[x: 2x64 x f32]>
  lm.layer_kind @k(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>) {
    lm.return %x, %s : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{passes @s twice: a state is of one layer}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@k, @k], states = [[@s], [@s]], weights = [[], []]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c8
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.state @s : #lm.fixed<[x: 2x32 x f32]>
  lm.layer_kind @k(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>) {
    lm.return %x, %s : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{layer 0 passes states [@s], @k takes}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@k], states = [[@s]], weights = [[]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// layers_c9
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.state @s : #lm.paged<[k: 1x64, v: 1x64]> of "int8"
  lm.layer_kind @k(%x: tensor<?x64xf32>, %s: !lm.state<#lm.paged<[k: 1x64, v: 1x64]>> {lm.element = "f16"}, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>) {
    lm.return %x, %s : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 1x64, v: 1x64]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    // expected-error @+1 {{layer 0 passes @s, whose values are not those that @k takes (lm.element)}}
    %y, %k1 = lm.layers %x, %k, %b {kinds = [@k], states = [[@s]], weights = [[]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    lm.return %y, %k1 : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// get_weight_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    // expected-error @+1 {{expects @v to be a weight of type}}
    %w = lm.get_weight @v : !lm.weight<8x64, q8_0>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, q8_0> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// embed_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x32, f32>
    // expected-error @+1 {{expects rows of 32 values}}
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x32, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x32, f32> {source = "v"}
}

// -----

// stream_c1
// expected-error @+2 {{expects a stream to have a name and rows of values}}
// expected-error @+1 {{failed to parse Lm_StateType parameter}}
func.func private @f(!lm.state<#lm.paged<[k: 0x16, v: 2x16]>>)

// -----

// layout_c1
// expected-error @+2 {{expects a state of one or more streams}}
// expected-error @+1 {{failed to parse Lm_StateType parameter}}
func.func private @f(!lm.state<#lm.paged<[k: 2x16, k: 2x16]>>)

// -----

// state_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects a paged layout of f32, bf16, f16, int8, fp8 or int4, got "int9"}}
  lm.state @kv.0 : #lm.paged<[k: 2x16, v: 2x16]> of "int9"
}

// -----

// state_c1 of a fixed one
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects a paged layout of}}
  lm.state @conv.0 : #lm.fixed<[x: 2x64 x f32]> of "f32"
}

// -----

// layout_c2
// expected-error @+1 {{expects a paged or a fixed layout}}
func.func private @f(!lm.state<#lm.format<f32>>)

// -----

// a fixed state of another type
// expected-error @+2 {{expects rows x width x f32}}
// expected-error @+1 {{failed to parse Lm_StateType parameter}}
func.func private @f(!lm.state<#lm.fixed<[x: 2x64 x f64]>>)

// -----

// an unknown format
// expected-error @+1 {{unknown numeric format 'q9'}}
func.func private @f(!lm.weight<8x8, q9>)

// -----

// causal_conv_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %s: !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>, %b: !lm.batch, %w: !lm.weight<192, f32> {lm.role = "w"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>) {
    // expected-error @+1 {{expects a fixed state of earlier rows of 64 values}}
    %y, %s1 = lm.causal_conv %x, %w over %s at %b : tensor<?x64xf32>, !lm.weight<192, f32>, !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>
    lm.return %y, %s1 : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x32, v: 2x32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// causal_conv_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x32 x f32]>>, %b: !lm.batch, %w: !lm.weight<192, f32> {lm.role = "w"}) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x32 x f32]>>) {
    // expected-error @+1 {{expects a fixed state of earlier rows of 64 values}}
    %y, %s1 = lm.causal_conv %x, %w over %s at %b : tensor<?x64xf32>, !lm.weight<192, f32>, !lm.state<#lm.fixed<[x: 2x32 x f32]>>
    lm.return %y, %s1 : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x32 x f32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// causal_conv_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 3x64 x f32]>>, %b: !lm.batch, %w: !lm.weight<192, f32> {lm.role = "w"}) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 3x64 x f32]>>) {
    // expected-error @+1 {{expects the weight to be a float vector of 256}}
    %y, %s1 = lm.causal_conv %x, %w over %s at %b : tensor<?x64xf32>, !lm.weight<192, f32>, !lm.state<#lm.fixed<[x: 3x64 x f32]>>
    lm.return %y, %s1 : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 3x64 x f32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// causal_conv_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %s: !lm.state<#lm.fixed<[x: 2x64 x f32]>>, %b: !lm.batch, %w: !lm.weight<192, f32> {lm.role = "w"}) -> (tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>) {
    // expected-error @+1 {{expects the bias to be a float vector of 64}}
    %y, %s1 = lm.causal_conv %x, %w, %w : !lm.weight<192, f32> over %s at %b : tensor<?x64xf32>, !lm.weight<192, f32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
    lm.return %y, %s1 : tensor<?x64xf32>, !lm.state<#lm.fixed<[x: 2x64 x f32]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 4 : i64, max_positions = 8 : i64} {
  // expected-error @+1 {{expects a vector to have no layout, got panel32}}
  lm.weight @w : !lm.weight<64, f32, panel32> {source = "w"}
}

// -----

// cast_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects x's rows in an encoding, got 'tensor<?x32xf32, "q8">'}}
    %0 = lm.cast %x : tensor<?x64xf32> -> tensor<?x32xf32, "q8">
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// cast_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    %0 = lm.cast %x : tensor<?x64xf32> -> tensor<?x64xf32, "q8">
    // expected-error @+1 {{expects x in an encoding other than 'tensor<?x64xf32, "q8">'}}
    %1 = lm.cast %0 : tensor<?x64xf32, "q8"> -> tensor<?x64xf32, "q8">
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// Only projections read other encodings.
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    %0 = lm.cast %x : tensor<?x64xf32> -> tensor<?x64xf32, "q8">
    // expected-error @+1 {{must be rows of f32 in no other encoding}}
    %1 = lm.add %0, %0 : tensor<?x64xf32, "q8">
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// routes_type_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects some of at most 2048 experts to be used, got 9 of 8}}
    %0 = lm.route %x : tensor<?x64xf32> -> !lm.routes<8, 9>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// route_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects logits of 32 experts}}
    %0 = lm.route %x : tensor<?x64xf32> -> !lm.routes<32, 4>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// route_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects equal groups of experts, some of which are used and hold 9 of them}}
    %0 = lm.route %x {groups = 8 : i64} : tensor<?x64xf32> -> !lm.routes<64, 9>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// route_c3
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects groups of two experts or more for top2sum}}
    %0 = lm.route %x {groups = 64 : i64, used_groups = 9 : i64, group_score = #lm.group_score<top2sum>} : tensor<?x64xf32> -> !lm.routes<64, 9>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// route_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %c: !lm.weight<32, f32> {lm.role = "c"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects a bias or scale to be a float vector of 64 values}}
    %0 = lm.route %x select %c : !lm.weight<32, f32> : tensor<?x64xf32> -> !lm.routes<64, 4>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// linear_c4
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<8x32x64, q4_0> {lm.role = "w"}) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects a matrix for each of 1 experts, got '!lm.weight<8x32x64, q4_0>'}}
    %0 = lm.linear %x, %w : tensor<?x64xf32>, !lm.weight<8x32x64, q4_0> -> tensor<?x32xf32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// linear_c5
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch, %w: !lm.weight<64x32x64, q4_0> {lm.role = "w"}, %c: !lm.weight<64x32, f32> {lm.role = "c"}) -> tensor<?x64xf32> {
    %r = lm.route %x : tensor<?x64xf32> -> !lm.routes<64, 4>
    // expected-error @+1 {{expects a bias of 64x32x1 f32}}
    %0 = lm.linear %x, %w, %c : !lm.weight<64x32, f32> of %r : !lm.routes<64, 4> : tensor<?x64xf32>, !lm.weight<64x32x64, q4_0> -> tensor<?x32xf32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// scale_rows_c1
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    // expected-error @+1 {{expects one factor for each row, got 'tensor<?x64xf32>'}}
    %0 = lm.scale_rows %x, %x : tensor<?x64xf32>, tensor<?x64xf32>
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// attention_c5
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 64 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x64xf32>, %kv: !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>, %b: !lm.batch, %n: !lm.weight<64, f32> {lm.role = "n"}) -> (tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>) {
    // expected-error @+1 {{expects the sinks to be a float vector of 4 values}}
    %0 = lm.attention %x, %kv, %b sinks %n : !lm.weight<64, f32> {heads = 4 : i64, scale = 1.0 : f32} : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>> -> tensor<?x64xf32>
    lm.return %x, %kv : tensor<?x64xf32>, !lm.state<#lm.paged<[k: 2x16, v: 2x16]>>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x64xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x64, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x64, f32> -> tensor<?x64xf32>
    lm.return %x, %k : tensor<?x64xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x64, f32> {source = "v"}
}

// -----

// permute_c2
lm.model @m attributes {family = "t", vocab = 8 : i64, hidden = 40 : i64, max_positions = 8 : i64} {
  lm.layer_kind @k(%x: tensor<?x40xf32>, %b: !lm.batch, %f: !lm.weight<160, f32> {lm.role = "f"}) -> tensor<?x40xf32> {
    %s = lm.route %x : tensor<?x40xf32> -> !lm.routes<40, 2>
    // expected-error @+1 {{expects 64 columns for each of 40 experts}}
    %0 = lm.permute %x by %f of %s : !lm.routes<40, 2> : tensor<?x40xf32>, !lm.weight<160, f32>
    lm.return %0 : tensor<?x40xf32>
  }
  lm.entry @e(%i: tensor<?xi32>, %k: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %w = lm.get_weight @v : !lm.weight<8x40, f32>
    %x = lm.embed %i, %w : tensor<?xi32>, !lm.weight<8x40, f32> -> tensor<?x40xf32>
    lm.return %x, %k : tensor<?x40xf32>, !lm.states
  }
  lm.weight @v : !lm.weight<8x40, f32> {source = "v"}
}
