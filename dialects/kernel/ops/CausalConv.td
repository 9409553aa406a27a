//===- CausalConv.td - Convolutions over the rows of a sequence -----------===//
#ifndef INGOT_DIALECTS_KERNEL_OPS_CAUSALCONV_TD
#define INGOT_DIALECTS_KERNEL_OPS_CAUSALCONV_TD

include "dialects/kernel/KernelTypes.td"

def Kernel_CausalConvOp : Kernel_LaunchOp<"causal_conv", ["workItems", "operationsPerUnit"]> {
  let summary = "y[t][c] = sum_j w[j][c] x[t - taps + 1 + j][c] (+ bias[c]), over the rows of a sequence";
  let description = [{
    Computes lm.causal_conv. The state holds the previous taps - 1 rows. For each span, the batch (Batch.h) gives the
    slot that the span starts from and the tokens after which snapshots are written. On every target, each product is
    rounded and then added to the sum, the oldest first. Work items: spans x blocks of kConvChannels channels.
  }];
  let arguments = (ins Kernel_Read<Kernel_ActivationType>:$x, Kernel_Read<Lm_WeightType>:$weight,
                   Kernel_Read<Optional<Lm_WeightType>>:$bias, Kernel_Update<Kernel_FixedStateType>:$state,
                   Kernel_Write<Kernel_ActivationType>:$output);
  let assemblyFormat = [{ $x `,` $weight (`bias` $bias^ `:` type($bias))? `over` $state `:` type($x) `,`
                          type($weight) `,` type($state) `outs` `(` $output `:` type($output) `)` attr-dict }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the number of earlier rows that the result of a token depends on.
    int64_t historyRows() { return getState().getType().getLayout().getStreams().front().getRows(); }
  }];
}

#endif
