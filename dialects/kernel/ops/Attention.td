//===- Attention.td - Attention over the KV cache -------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_ATTENTION_TD
#define INGOT_DIALECTS_KERNEL_OPS_ATTENTION_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_AttentionOp : Kernel_LaunchOp<"attention", ["workItems", "operationsPerPosition", "bytesPerPosition",
                                                     "workspace", "takeWorkspace"], [AttrSizedOperandSegments]> {
  let summary = "paged causal attention, online softmax over pages at fixed absolute positions";
  let description = [{
    Computes lm.attention. The output has rows of heads * head_dim values in f32, bf16 or q8; q8 requires that head_dim
    is a multiple of 32. Work items: attention tiles x KV heads (item = tile * kv_heads + head). A work item has one row
    for each token of its tile and each query head that shares its KV head.

    With `workspace` (GPUs), several blocks share the positions of a tile and exchange partial results in the
    workspace.
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
