//===- Round.td - Rows in the form that projections read ------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_ROUND_TD
#define INGOT_DIALECTS_LM_OPS_ROUND_TD

include "dialects/lm/LmTypes.td"

def Lm_RoundOp : Lm_Op<"round", [Pure]> {
  let summary = "the rows of x, held in the form that the result's type names";
  let description = [{
    ```mlir
    %r = lm.round %x : tensor<?x576xf32> -> tensor<?x576xf32, "q8">
    ```
    Forms are those of the kernels (RowKind), which round as they like: in lm the values are those of x. A projection
    reads rows in any form, nobody else does. Within an `lm.fused` it says that the launch writes its rows so itself.
  }];
  let arguments = (ins Lm_Rows:$x);
  let results = (outs Lm_Rows:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

#endif
