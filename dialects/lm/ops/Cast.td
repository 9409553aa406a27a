//===- Cast.td - Rows in the encoding that projections read ---------------===//
#ifndef INGOT_DIALECTS_LM_OPS_CAST_TD
#define INGOT_DIALECTS_LM_OPS_CAST_TD

include "dialects/lm/LmTypes.td"

def Lm_CastOp : Lm_Op<"cast", [Pure]> {
  let summary = "the rows of x, in the encoding that the result's type names";
  let description = [{
    ```mlir
    %r = lm.cast %x : tensor<?x576xf32> -> tensor<?x576xf32, "q8">
    ```
    The encodings are those of the kernels (RowKind). Only kernels round: in lm, the values are those of x. Apart from
    `lm.cast` itself, only projections take rows in an encoding other than f32. A cast inside an `lm.fused` means that
    the launch itself writes its rows in this encoding.
  }];
  let arguments = (ins Lm_Rows:$x);
  let results = (outs Lm_Rows:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

#endif
