//===- Norm.td - Norms of rows and of heads -------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_NORM_TD
#define INGOT_DIALECTS_LM_OPS_NORM_TD

include "dialects/lm/LmTypes.td"

def Lm_RmsNormOp : Lm_Op<"rms_norm", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "x / sqrt(mean(x^2) + eps) * (weight + weight_offset), per row or per head of a row";
  let description = "With `heads` = h the row is cut into h equal heads, each normalised alone with the same weight.";
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, F32Attr:$eps,
                   DefaultValuedAttr<I64Attr, "1">:$heads, DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $weight attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

def Lm_LayerNormOp : Lm_Op<"layer_norm", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "(x - mean) / sqrt(mean((x - mean)^2) + eps) * (weight + weight_offset) (+ bias), per row";
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$weight, Optional<Lm_WeightType>:$bias, F32Attr:$eps,
                   DefaultValuedAttr<F32Attr, "0.0f">:$weight_offset);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $weight (`,` $bias^ `:` type($bias))? attr-dict `:` type($x) `,` type($weight)";
  let hasVerifier = 1;
}

#endif
