//===- Fused.td - Consumers of fused values -------------------------------===//
// Consumers that take only fused values of another op in the kernel. Others (argmax, rope_append) also take rows.
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_FLOW_TD
#define INGOT_DIALECTS_KERNEL_OPS_FLOW_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_StoreOp : Kernel_Op<"store"> {
  let summary = "y[t] = the fused values of row t";
  let arguments = (ins Kernel_FusedType:$values, Kernel_Write<Kernel_ActivationType>:$output);
  let assemblyFormat = "$values `:` type($values) `into` $output `:` type($output) attr-dict";
  let hasVerifier = 1;
}

def Kernel_PanelMaximaOp : Kernel_Op<"panel_maxima"> {
  let summary = "y[t][p] = the largest of the 32 values of panel p, ignoring NaN";
  let description = [{
    A sampler uses the maxima to find the panels that hold its candidates. The maximum of a panel that holds only NaN
    is -inf.
  }];
  let arguments = (ins Kernel_FusedType:$values, Kernel_Write<Kernel_ActivationType>:$output);
  let assemblyFormat = "$values `:` type($values) `into` $output `:` type($output) attr-dict";
  let hasVerifier = 1;
}

#endif
