// Errors that the selection and the placement of kernels could make, each planted into correct IR, and the reports.
// DEFINE: %{model} = %S/Inputs/model.mlir
// DEFINE: %{select} = ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels)'
// DEFINE: %{place} = ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels,kernel-place)'
// DEFINE: %{finish} = ingot-opt --pass-pipeline='builtin.module(kernel-place{in-place=false},plan-outline,kernel-choose-layouts)'
// DEFINE: %{outline} = ingot-opt --pass-pipeline='builtin.module(plan-outline,kernel-choose-layouts)'
// DEFINE: %{check} = not ingot-opt --check-plan=against=%{model} -o /dev/null

// The unmodified kernels: once with a buffer for each value, and once as kernel-place places them.
// RUN: %{select} | %{finish} | ingot-opt --check-plan=against=%{model} -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RUN: %{place} | %{outline} | ingot-opt --check-plan=against=%{model} -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: {{[0-9]+}} launches in modes logits

// 1. Gate and up exchanged.
// RUN: %{select} | sed 's/"gate_up"(%\([0-9]*\), %arg10, %arg11 /"gate_up"(%\1, %arg11, %arg10 /' | %{finish} | %{check} 2>&1 | FileCheck %s --check-prefix=GATE
// GATE: error[E0883]
// GATE: @gate_up_0 of layer 0 is the first launch

// 2. The second residual adds the layer's input instead of the sum after attention.
// RUN: %{select} | sed 's/"residual"(%\([0-9]*\), %arg12, %[0-9]* /"residual"(%\1, %arg12, %arg0 /' | %{finish} | %{check} 2>&1 | FileCheck %s --check-prefix=RESIDUAL
// RESIDUAL: error[E0883]
// RESIDUAL: @residual_1 of layer 0 is the first launch

// 3. Keys and values exchanged.
// RUN: %{select} | sed 's/#0, %\([0-9]*\)#1, %\([0-9]*\)#2, /#0, %\1#2, %\2#1, /' | %{finish} | %{check} 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS: error[E0883]

// 4. Attention that reads the queries before their rotation, which overwrites them.
// RUN: %{select} | sed 's/"attention"(%\([0-9]*\)#1, /"attention"(%2#0, /' | not %{finish} 2>&1 | FileCheck %s --check-prefix=QUERIES
// QUERIES: error: 'kernel.dispatch' op updates operand 0, which is read later as it was before

// 5. A result that overwrites rows which are read later.
// RUN: %{place} | sed 's/<6>, #plan.buffer<@norm_1>/<6>, #plan.buffer<@x>/; s/"gate_up" \[#plan.buffer<@norm_1>/"gate_up" [#plan.buffer<@x>/' | %{outline} | %{check} 2>&1 | FileCheck %s --check-prefix=OVER
// OVER: error[E088{{[1-3]}}]

// 6. The layer's result in a buffer other than the one that the next layer reads.
// RUN: %{place} | sed 's/<9>, #plan.buffer<@x>, #plan.buffer<@x>/<9>, #plan.buffer<@x>, #plan.buffer<@projections>/' | %{outline} | %{check} 2>&1 | FileCheck %s --check-prefix=CARRIED
// CARRIED: error[E0883]

// 7. The table of rotations is not computed.
// RUN: %{place} | sed '/plan.dispatch "rope_table"/,/^      }/d' | %{outline} | %{check} 2>&1 | FileCheck %s --check-prefix=TABLE
// TABLE: error[E0882]: @rope_append_0 of layer 0 reads uninitialised memory

// 8. Attention that reads smaller rows, those of a norm, as queries.
// RUN: %{place} | sed 's/"attention" \[#plan.buffer<@projections>/"attention" [#plan.buffer<@norm>/' | not %{outline} 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: error: 'plan.launch' op expects #plan.buffer<@norm> to be a buffer of at least

// 9. A value from before the layers, which do not pass it on.
// RUN: %{select} | sed 's/"select_norm"(%y, /"select_norm"(%1, /' | not %{finish} 2>&1 | FileCheck %s --check-prefix=STAGE
// STAGE: error: 'kernel.dispatch' op expects operand 0 to be a value of its own stage, or one that lm.layers passes on
