//===- Norm.td - Norms of rows and of heads -------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_NORM_TD
#define INGOT_DIALECTS_LM_OPS_NORM_TD

include "dialects/lm/LmInterfaces.td"
include "dialects/lm/LmTypes.td"

class Lm_NormOp<string mnemonic> : Lm_Op<mnemonic, [Pure, AllTypesMatch<["x", "result"]>, Lm_NormInterface]> {
  let results = (outs Lm_Activations:$result);
  let hasVerifier = 1;
}

def Lm_RmsNormOp : Lm_NormOp<"rms_norm"> {
  let summary = "x / sqrt(mean(x^2) + eps) * (weight + weight_offset), per row or per head of a row";
  let description = [{
    With `heads` = h, the row is split into h equal heads, each of which is normalised separately. A weight of
    width / h values is shared by all heads; a weight of the row's width has separate values for each head.
  }];
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, F32Attr:$eps,
                   DefaultValuedAttr<I64Attr, "1">:$heads, DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset);
  let assemblyFormat = "$x `,` $weight attr-dict `:` type($x) `,` type($weight)";
  let extraClassDeclaration = "bool isCentred() { return false; }";
}

def Lm_LayerNormOp : Lm_NormOp<"layer_norm"> {
  let summary = "(x - mean) / sqrt(mean((x - mean)^2) + eps) * (weight + weight_offset) (+ bias), per row or per head of a row";
  let description = "`heads` has the same meaning as in `lm.rms_norm`. A norm of heads has no bias.";
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, Optional<Lm_WeightType>:$bias, F32Attr:$eps,
                   DefaultValuedAttr<I64Attr, "1">:$heads, DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset);
  let assemblyFormat = "$x `,` $weight (`,` $bias^ `:` type($bias))? attr-dict `:` type($x) `,` type($weight)";
  let extraClassDeclaration = "bool isCentred() { return true; }";
}

#endif
