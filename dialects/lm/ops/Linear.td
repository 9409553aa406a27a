//===- Linear.td - Projections --------------------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_LINEAR_TD
#define INGOT_DIALECTS_LM_OPS_LINEAR_TD

include "dialects/lm/LmTypes.td"

def Lm_LinearOp : Lm_Op<"linear", [Pure]> {
  let summary = "y[t][n] = sum_k weight[n][k] x[t][k] (+ bias[n])";
  let arguments = (ins Lm_Rows:$x, Lm_WeightType:$weight, Optional<Lm_WeightType>:$bias);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = [{ $x `,` $weight (`,` $bias^ `:` type($bias))? attr-dict `:` type($x) `,` type($weight)
                          `->` type($result) }];
  let hasVerifier = 1;
}

#endif
