//===- Attention.td - Attention over the KV cache -------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_ATTENTION_TD
#define INGOT_DIALECTS_KERNEL_OPS_ATTENTION_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_AttentionOp : Kernel_LaunchOp<"attention", ["workItems", "operationsPerPosition", "bytesPerPosition",
                                                     "workspace", "takeWorkspace"], [AttrSizedOperandSegments]> {
  let summary = "paged causal attention, online softmax over pages at fixed absolute positions";
  let description = [{
    Computes lm.attention. The output is activation<heads * head_dim, f32>, bf16, or q8 (head_dim a multiple of 32).
    Work items: attention tiles x KV heads (item = tile * kv_heads + head). The rows of a work item are the tile's
    tokens x the heads of the group.

    `workspace` (GPUs): the positions of a tile are split between blocks, which exchange their partial results there.
  }];
  let arguments = (ins Kernel_Read<Kernel_ActivationType>:$q, Kernel_Read<Kernel_KvPoolType>:$kv,
                   Kernel_Write<Kernel_ActivationType>:$output, Kernel_Read<Optional<Lm_WeightType>>:$sinks,
                   Kernel_Update<Optional<Kernel_WorkspaceType>>:$workspace, I64Attr:$heads, F32Attr:$scale,
                   DefaultValuedAttr<I64Attr, "0">:$window, DefaultValuedAttr<F32Attr, "0.0f">:$softcap);
  let assemblyFormat = [{ $q `,` $kv `:` type($q) `,` type($kv) `outs` `(` $output `:` type($output) `)`
                          (`sinks` $sinks^ `:` type($sinks))? (`workspace` $workspace^ `:` type($workspace))?
                          attr-dict }];
  let hasVerifier = 1;
}

#endif
