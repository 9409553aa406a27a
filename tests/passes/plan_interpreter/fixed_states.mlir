// States of fixed size: convolutions of LFM2, next to attention.
// DEFINE: %{model} = %S/../../checkpoints/tiny/lfm2-old-config
// DEFINE: %{lower} = ingot compile %{model} --emit plan
// DEFINE: %{check} = not ingot-opt --check-plan=against=%t.mlir -o /dev/null
// RUN: ingot compile %{model} --emit fused -o %t.mlir

// RUN: %{lower} | ingot-opt --check-plan=against=%t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: {{[0-9]+}} launches in modes logits, greedy

// A layer that gets the state of another layer.
// RUN: %{lower} | sed 's/states \[@conv.1\]/states [@conv.0]/' | %{check} 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: error[E0887]: the step of layer 1 (@conv) does not match its layer
// STATE: state 0 is @conv.0, where layer 0 takes @conv.0

// A convolution without a barrier after it.
// RUN: %{lower} | sed '/launch @conv_0/s/$/ no_barrier/' | %{check} 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER: error[E0881]: there is no barrier between @conv_0 of layer 0 and
