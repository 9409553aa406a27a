// Errors that packing and the elision of barriers could make, each planted into a correct plan.
// DEFINE: %{model} = %S/Inputs/model.mlir
// DEFINE: %{lower} = ingot-opt %{model} --ingot-fuse --ingot-lower
// DEFINE: %{check} = not ingot-opt --check-plan -o /dev/null

// 7. Offsets that overlap: v overlaps the hidden rows, which outlive the section; and k, which the same launch writes.
// RUN: %{lower} | sed 's/@projections_2 per_token 256 at 1024/@projections_2 per_token 256 at 512/' | %{check} 2>&1 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP: error[E0882]: @residual_0 of layer 0 reads memory that another buffer has overwritten
// OVERLAP: @x, byte 0 of 1536: @projections_0 of layer 0 wrote it as @projections_2
// RUN: %{lower} | sed 's/@projections_2 per_token 256 at 1024/@projections_2 per_token 256 at 768/' | %{check} 2>&1 | FileCheck %s --check-prefix=SEGMENTS
// SEGMENTS: error[E0881]: work items of @projections_0 of layer 0 touch the same bytes

// 8. A barrier removed.
// RUN: %{lower} | sed '/launch @norm_0 .*norm_1/s/$/ no_barrier/' | %{check} 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER: error[E0881]: there is no barrier between @norm_0 of layer 0 and @gate_up_0 of layer 0
// BARRIER: @norm_1, byte 0

// A barrier removed between a write and a read of the pool.
// RUN: %{lower} | sed '/launch @rope_append_0/s/$/ no_barrier/' | %{check} 2>&1 | FileCheck %s --check-prefix=POOL
// POOL: error[E0881]: there is no barrier between @rope_append_0 of layer 0 and @attention_0 of layer 0

// Work items that touch each other's bytes: a projection that overwrites its own input.
// RUN: %{lower} | sed -e '/func @gate_up_0/,/return/s/arg3: !kernel.activation<96, q8>/arg3: !kernel.activation<96, f32>/' \
// RUN:     -e '/func @gate_up_0/,/return/s/outs(%arg3 : !kernel.activation<96, q8>)/outs(%arg3 : !kernel.activation<96, f32>)/' \
// RUN:     -e 's/@gate_up per_token 192 at 0/@gate_up per_token 384 at 0/' \
// RUN:     -e '/func @residual_1/,/return/s/96, q8>/96, f32>/g' \
// RUN:     -e '/launch @gate_up_0/s/norm_1/gate_up/' -e '/launch @norm_0 .*norm_1/s/norm_1/gate_up/' | %{check} 2>&1 | FileCheck %s --check-prefix=ITEMS
// ITEMS: error[E0881]: work items of @gate_up_0 of layer 0 touch the same bytes

// Memory that the host reads is overwritten: hidden rows overlap the logits.
// RUN: %{lower} | sed 's/@select_norm per_row 256 at 512/@select_norm per_row 256 at 256/' | %{check} 2>&1 | FileCheck %s --check-prefix=HIDDEN
// HIDDEN: error[E088{{[12]}}]

// A plan compared bit for bit with an earlier one that differs in a single rounding: the rows of the attention.
// RUN: %{lower} -o %t.mlir
// RUN: ingot-opt %t.mlir --check-plan=against=%t.mlir -o /dev/null
// RUN: sed '/kernel.attention/s/scale = 1.700000e-01/scale = 1.700010e-01/' %t.mlir | not ingot-opt --check-plan=against=%t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=BITS
// BITS: error[E0884]: planning changed the result
// BITS: @attention_0 of layer 0 is the first launch with a different output; logit

// An op that the interpreter does not know is reported, and nothing is checked.
// RUN: %{lower} | sed '/func @gate_up_0/,/return/s/math.exp %0/math.exp2 %0/' | ingot-opt --check-plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: remark: not interpreted: math.exp2
