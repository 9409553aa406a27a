// Errors that lowering could make, each planted into a correct plan, and the reports of the plan interpreter.
// DEFINE: %{model} = %S/Inputs/model.mlir
// DEFINE: %{lower} = ingot-opt %{model} --ingot-fuse --ingot-lower
// DEFINE: %{check} = not ingot-opt --check-plan=against=%{model} -o /dev/null

// The unmodified plan.
// RUN: %{lower} | ingot-opt --check-plan=against=%{model} -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: 24 launches in modes logits, greedy

// 1. Gate and up exchanged.
// RUN: %{lower} | sed 's/layer_weight<7>, #plan.layer_weight<8>/layer_weight<8>, #plan.layer_weight<7>/' | %{check} 2>&1 | FileCheck %s --check-prefix=GATE
// GATE: error[E0883]: the plan's result differs from the model's
// GATE: layer 0 (@layer), or the sections around it: @gate_up_0 of layer 0 is the first launch whose rows do not occur in the model, and may be the cause; logit 0 of row 0 of step 0 is

// 2. The norm weight of another layer, in a step that the slice does not run.
// RUN: %{lower} | sed 's/weights \[@blk.1.attn_norm, @blk.1.q/weights [@blk.0.attn_norm, @blk.1.q/' | %{check} 2>&1 | FileCheck %s --check-prefix=NORM
// NORM: error[E0887]: the step of layer 1 (@layer) does not match its layer
// NORM: weight 0 is @blk.0.attn_norm, where layer 0 takes @blk.0.attn_norm

// 3. The other style of rotations.
// RUN: %{lower} | sed 's/rope_style<half>/rope_style<interleaved>/' | %{check} 2>&1 | FileCheck %s --check-prefix=ROPE
// ROPE: error[E0883]

// 4. Operands exchanged: v appended as k.
// RUN: %{lower} | sed '/launch @rope_append/s/@projections_1>, #plan.buffer<@projections_2/@projections_2>, #plan.buffer<@projections_1/' | %{check} 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS: error[E0883]

// 5. The state of another layer.
// RUN: %{lower} | sed 's/layer 1 states \[@kv.1\]/layer 1 states [@kv.0]/' | %{check} 2>&1 | FileCheck %s --check-prefix=SLOT
// SLOT: error[E0887]: the step of layer 1 (@layer) does not match its layer
// SLOT: state 0 is @kv.0, where layer 0 takes @kv.0

// 6. A pool with a format other than the state's: the plan's verifier finds it.
// RUN: %{lower} | sed '/func @attention/,/return/s/f16>/bf16>/g' | %{check} 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: 'plan.step' op expects @kv.0 to be of type '!kernel.kv_pool<2, 32, bf16>'

// A residual that is lost.
// RUN: %{lower} | sed '/func @residual_0/,/return/s/arith.addf %arg5, %arg4/arith.addf %arg4, %arg4/' | %{check} 2>&1 | FileCheck %s --check-prefix=RESIDUAL
// RESIDUAL: error[E0883]
// RESIDUAL: @residual_0 of layer 0 is the first launch

// Keys that are appended after the attention that reads them: it reads unwritten memory.
// RUN: %{lower} | sed -e '/launch @rope_append_0/{h;d}' -e '/launch @attention_0/{G}' | %{check} 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error[E0882]: @attention_0 of layer 0 reads uninitialised memory
// LATE: the pool of state 0 holds 0 positions of sequence 0, position 19 is read
