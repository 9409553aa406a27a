// GPUs: launches that differ by counts and by modes.
// DEFINE: %{model} = %S/Inputs/model.mlir
// DEFINE: %{lower} = ingot-opt %{model} --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings{device=cuda}),lm-select-kernels{device=cuda kv=bf16},kernel-place,plan-outline,kernel-fold-argmax,kernel-append-epilogues,kernel-norm-prologues,plan-add-workspaces,plan-find-ids,plan-expand-cases,plan.program(plan-elide-barriers,plan-pack-buffers))'
// DEFINE: %{check} = not ingot-opt --check-plan=against=%{model} -o /dev/null

// The unmodified plan: steps of 1, 3 and 6 tokens in all modes, and in the cases for more tokens.
// RUN: %{lower} | ingot-opt --check-plan=against=%{model} -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT
// RIGHT: remark: computes the same: {{[0-9]+}} launches in modes logits, greedy, drawn

// 9. A case that gives other ids: no launch updates the keys of three rows.
// RUN: %{lower} | sed -e 's/case when \[rows <= 32\]/case when [rows <= 2]/' -e 's/kernel.counts<33>/kernel.counts<3>/' | %{check} 2>&1 | FileCheck %s --check-prefix=IDS
// IDS: error[E0885]: steps of mode greedy output ids that do not match their logits
// IDS: row 0 of step 0: id 0, expected

// 10. A workspace that is not kept from step to step, so its counters need not be 0.
// RUN: %{lower} | sed 's/\(@workspace fixed [0-9]* at 0\) persistent/\1/' | %{check} 2>&1 | FileCheck %s --check-prefix=WORKSPACE
// WORKSPACE: error[E0882]: @attention_0 of layer 0 reads uninitialised memory
// WORKSPACE: @workspace, byte 0

// 11. Few tokens: the norm that a projection computes itself has the weight of another norm.
// RUN: %{lower} | sed '/launch @gate_up_0_norm/s/#plan.layer_weight<6>/#plan.layer_weight<0>/' | %{check} 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error[E0885]: rows of a step of one token differ from those of a step of several tokens
// MANY: row 0: logit 0 is

// A launch with other counts than the kernel declares. (Generators omit the variants for other counts.)
// RUN: %{lower} | sed '/func @linear_0(/s/kernel.counts<33>/kernel.counts<33 to 40>/' | %{check} 2>&1 | FileCheck %s --check-prefix=COUNTS
// COUNTS: error[E0885]: @linear_0 is launched in a step of many rows
// COUNTS: its kernel is for #kernel.counts<33 to 40>

// Sums that are not reset after a step.
// RUN: %{lower} | sed '/mode = drawn/,/plan.case {/s/plan.launch @draw_ids .*/plan.launch @argmax_finish [#plan.buffer<@greedy_keys>, #plan.buffer<@greedy_ids>]/' | %{check} 2>&1 | FileCheck %s --check-prefix=SUMS
// SUMS: error[E0888]: @draw_sums is not 0 after a step in mode drawn

// Sums of weights that no launch has computed.
// RUN: %{lower} | sed '/launch @draw_weigh/d' | %{check} 2>&1 | FileCheck %s --check-prefix=WEIGH
// WEIGH: error[E0885]: @draw_ids samples from sums of other logits

// The rotation that a projection does in steps of few tokens, in the other style.
// RUN: %{lower} | sed '/= kernel.rope_append/s/rope_style<half>/rope_style<interleaved>/' | %{check} 2>&1 | FileCheck %s --check-prefix=STYLE
// STYLE: error[E08
