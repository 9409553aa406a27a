//===- CausalConv.td - Convolutions over the rows of a sequence -----------===//
#ifndef INGOT_DIALECTS_LM_OPS_CAUSALCONV_TD
#define INGOT_DIALECTS_LM_OPS_CAUSALCONV_TD

include "dialects/lm/LmTypes.td"

def Lm_CausalConvOp : Lm_Op<"causal_conv", [Pure, AllTypesMatch<["x", "result"]>, AllTypesMatch<["before", "after"]>]> {
  let summary = "y[t][c] = sum_j weight[j][c] x[t - taps + 1 + j][c] (+ bias[c]), over the rows of a sequence";
  let description = [{
    `weight` is a vector of taps x channels values, the oldest tap first; sums are taken in that order. The state
    `before` holds the taps - 1 rows before this step, oldest first, which are zeros at the beginning of a sequence.
    `after` holds the newest taps - 1 rows.
    ```mlir
    %y, %s1 = lm.causal_conv %x, %w over %s at %batch : tensor<?x1024xf32>, !lm.weight<3072, f32>,
                                                        !lm.state<#lm.fixed<[x: 2x1024 x f32]>>
    ```
  }];
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, Lm_StateType:$before, Lm_BatchType:$batch,
                   Optional<Lm_WeightType>:$bias);
  let results = (outs Lm_Activations:$result, Lm_StateType:$after);
  let assemblyFormat = [{ $x `,` $weight (`,` $bias^ `:` type($bias))? `over` $before `at` $batch attr-dict `:` type($x)
                          `,` type($weight) `,` type($before) }];
  let hasVerifier = 1;
}

#endif
