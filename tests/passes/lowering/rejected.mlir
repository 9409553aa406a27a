// Ops without a kernel are refused with the reason, not lowered to something else.
// RUN: not ingot-opt %s --split-input-file --pass-pipeline='builtin.module(lm-select-kernels,kernel-place,plan-outline)' 2>&1 | FileCheck %s

// RUN: not ingot-opt %s --split-input-file --pass-pipeline='builtin.module(kernel-place)' 2>&1 | FileCheck %s --check-prefix=UNSELECTED
// UNSELECTED: error: 'lm.rms_norm' op is not a kernel: expects the output of lm-select-kernels

// CHECK: error: 'lm.rms_norm' op of heads is supported only where keys enter the cache (pattern rope_append)

lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.weight @n1 : !lm.weight<16, f32> {source = "n1"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch, %n1: !lm.weight<16, f32> {lm.role = "n1"}) -> tensor<?x64xf32> {
    %0 = lm.rms_norm %x, %n1 {eps = 1.0e-6 : f32, heads = 4 : i64} : tensor<?x64xf32>, !lm.weight<16, f32>
    lm.return %0 : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[]], weights = [[@n1]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %y, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}

// -----

// Rows that lm.layers does not pass on do not exist after it.
// CHECK: error: 'lm.select_rows' op expects rows of its own stage, or rows that lm.layers passes on
lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
  lm.weight @embd : !lm.weight<40x64, f16> {source = "embd"}
  lm.layer_kind @layer(%x: tensor<?x64xf32>, %b: !lm.batch) -> tensor<?x64xf32> {
    lm.return %x : tensor<?x64xf32>
  }
  lm.entry @step(%ids: tensor<?xi32>, %kv: !lm.states, %b: !lm.batch) -> (tensor<?x40xf32>, !lm.states) {
    %e = lm.get_weight @embd : !lm.weight<40x64, f16>
    %x0 = lm.embed %ids, %e : tensor<?xi32>, !lm.weight<40x64, f16> -> tensor<?x64xf32>
    %x = lm.scale %x0 {factor = 2.0 : f32} : tensor<?x64xf32>
    %y, %kv1 = lm.layers %x, %kv, %b {kinds = [@layer], states = [[]], weights = [[]]} : tensor<?x64xf32> -> tensor<?x64xf32>
    %r = lm.select_rows %x0, %b : tensor<?x64xf32> -> tensor<?x64xf32>
    %l = lm.linear %r, %e : tensor<?x64xf32>, !lm.weight<40x64, f16> -> tensor<?x40xf32>
    lm.return %l, %kv1 : tensor<?x40xf32>, !lm.states
  }
}

// -----

// CHECK: error: 'lm.model' op has no lm.entry, so the model is incomplete
lm.model @m attributes {family = "t", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {
}
