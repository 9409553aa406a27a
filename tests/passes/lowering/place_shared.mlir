// A table that all layers of a kind read is computed once a step; if layers have frequencies of their own, each layer
// computes its table.
// DEFINE: %{lower} = ingot-opt --pass-pipeline='builtin.module(ingot-fuse,lm.model(lm-choose-encodings),lm-select-kernels,kernel-place,plan-outline)'
// RUN: %{lower} %S/../plan_interpreter/Inputs/model.mlir | FileCheck %s --check-prefix=SHARED
// RUN: sed "s/@blk.1.v, @rope_freqs/@blk.1.v, @other_freqs/; s/^\( *lm.weight @\)rope_freqs\( .*\)$/&\n\1other_freqs\2/" %S/../plan_interpreter/Inputs/model.mlir > %t.mlir
// RUN: %{lower} %t.mlir -o %t.plan.mlir && FileCheck %s --check-prefix=OWN < %t.plan.mlir
// RUN: ingot-opt %t.plan.mlir --check-plan=against=%t.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=RIGHT

// SHARED:      plan.buffer @rope per_token 128 persistent
// SHARED:      plan.section @begin {
// SHARED-NEXT:   plan.launch @rope_table_0 [#plan.weight<@rope_freqs>, #plan.buffer<@rope>]
// SHARED:      plan.section @layer {
// SHARED-NOT:    rope_table

// OWN:         plan.section @begin {
// OWN-NEXT:      plan.launch @embed_0
// OWN:         plan.section @layer {
// OWN-NEXT:      plan.launch @rope_table_0 [#plan.layer_weight<4>, #plan.buffer<@rope>]
// OWN:           plan.launch @rope_append_0 [{{.*}}, #plan.buffer<@rope>, #plan.state<0>]
// OWN:         plan.buffer @rope per_token 128{{$}}

// RIGHT: remark: computes the same: 24 launches in modes logits
