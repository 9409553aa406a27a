//===- Flow.td - What becomes of values that a kernel has at hand ---------===//
// Consumers that are nothing without an op whose results they take. Others take rows as well (argmax, rope_append).
//===----------------------------------------------------------------------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_FLOW_TD
#define INGOT_DIALECTS_KERNEL_OPS_FLOW_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_StoreOp : Kernel_Op<"store"> {
  let summary = "y[t] = the values";
  let arguments = (ins Kernel_FlowType:$values, Kernel_Write<Kernel_RowsType>:$output);
  let assemblyFormat = "$values `:` type($values) `into` $output `:` type($output) attr-dict";
  let hasVerifier = 1;
}

def Kernel_PanelMaximaOp : Kernel_Op<"panel_maxima"> {
  let summary = "y[t][p] = the largest of the 32 values of panel p, NaN aside";
  let description = [{
    What a sampler looks at to know which panels hold the values that it wants. -inf where a panel has none.
  }];
  let arguments = (ins Kernel_FlowType:$values, Kernel_Write<Kernel_RowsType>:$output);
  let assemblyFormat = "$values `:` type($values) `into` $output `:` type($output) attr-dict";
  let hasVerifier = 1;
}

#endif
