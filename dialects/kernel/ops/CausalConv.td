//===- CausalConv.td - Convolutions over the rows of a sequence -----------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_CAUSALCONV_TD
#define INGOT_DIALECTS_KERNEL_OPS_CAUSALCONV_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_CausalConvOp : Kernel_LaunchOp<"causal_conv", ["workItems", "operationsPerUnit"]> {
  let summary = "y[t][c] = sum_j w[j][c] x[t - taps + 1 + j][c] (+ bias[c]), over the rows of a sequence";
  let description = [{
    As lm.causal_conv. The state holds the taps - 1 rows before; the batch says of each span (Batch.h) which slot it
    begins with and behind which tokens versions are written. Products are rounded and added one by one, the oldest
    first, on every target. Work items: spans x blocks of kConvChannels channels.
  }];
  let arguments = (ins Kernel_Read<Kernel_RowsType>:$x, Kernel_Read<Lm_WeightType>:$weight,
                   Kernel_Read<Optional<Lm_WeightType>>:$bias, Kernel_Update<Kernel_FixedStateType>:$state,
                   Kernel_Write<Kernel_RowsType>:$output);
  let assemblyFormat = [{ $x `,` $weight (`bias` $bias^ `:` type($bias))? `over` $state `:` type($x) `,`
                          type($weight) `,` type($state) `outs` `(` $output `:` type($output) `)` attr-dict }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many rows before a token its own depends on.
    int64_t historyRows() { return getState().getType().getLayout().getStreams().front().getRows(); }
  }];
}

#endif
