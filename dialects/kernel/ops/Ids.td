//===- Ids.td - Token ids from rows of logits, on GPUs --------------------===//
// The device code is in device/sample.cuh and device/draw.cuh.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_IDS_TD
#define INGOT_DIALECTS_KERNEL_OPS_IDS_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_ArgmaxOp : Kernel_LaunchOp<"argmax", ["family", "workItems", "isPerRow"]> {
  let summary = "raises keys[r] to the largest logit of row r and its index";
  let description = [{
    The lowest index wins among equal logits; NaN is below every number. All keys are 0 before the launch, and the op
    that consumes a key resets it to 0. Work items: rows.
  }];
  let arguments = (ins Kernel_Read<Kernel_ActivationOrFused>:$logits, Kernel_Update<Kernel_ActivationType>:$keys);
  let assemblyFormat = "$logits `:` type($logits) `keys` $keys `:` type($keys) attr-dict";
  let hasVerifier = 1;
}

def Kernel_ArgmaxFinishOp : Kernel_LaunchOp<"argmax_finish", ["family", "workItems", "isPerRow"]> {
  let summary = "ids[r] = the index in keys[r]; resets keys[r] to 0";
  let description = "A key of 0 (all logits are NaN) yields id 0. Work items: rows.";
  let arguments = (ins Kernel_Update<Kernel_ActivationType>:$keys, Kernel_Write<Kernel_ActivationType>:$ids);
  let assemblyFormat = "$keys `:` type($keys) `outs` `(` $ids `:` type($ids) `)` attr-dict";
  let hasVerifier = 1;
}

def Kernel_DrawWeighOp : Kernel_LaunchOp<"draw_weigh", ["family", "workItems", "isPerRow"]> {
  let summary = "adds the weights of parts of row r to sums[r], according to the row's sampling parameters";
  let description = [{
    keys[r] holds the row's largest logit. All sums except those of blocks are 0 before the launch. Work items: rows.
  }];
  let arguments = (ins Kernel_Read<Kernel_ActivationType>:$logits, Kernel_Read<Kernel_ActivationType>:$keys,
                   Kernel_Update<Kernel_ActivationType>:$sums);
  let assemblyFormat = "$logits `,` $keys `:` type($logits) `,` type($keys) `sums` $sums `:` type($sums) attr-dict";
  let hasVerifier = 1;
}

def Kernel_DrawIdsOp : Kernel_LaunchOp<"draw_ids", ["family", "workItems", "isPerRow"]> {
  let summary = "ids[r] = the id drawn from row r by means of its sums; resets keys[r] and sums[r] to 0";
  let description = "The ids are exactly those of runtime/sample/Sampler.h for the same logits. Work items: rows.";
  let arguments = (ins Kernel_Read<Kernel_ActivationType>:$logits, Kernel_Update<Kernel_ActivationType>:$keys,
                   Kernel_Update<Kernel_ActivationType>:$sums, Kernel_Write<Kernel_ActivationType>:$ids);
  let assemblyFormat = [{ $logits `,` $keys `:` type($logits) `,` type($keys) `sums` $sums `:` type($sums)
                          `outs` `(` $ids `:` type($ids) `)` attr-dict }];
  let hasVerifier = 1;
}

#endif
