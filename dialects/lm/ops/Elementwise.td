//===- Elementwise.td - Elementwise ops -----------------------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_ELEMENTWISE_TD
#define INGOT_DIALECTS_LM_OPS_ELEMENTWISE_TD

include "dialects/lm/LmTypes.td"

def Lm_AddOp : Lm_Op<"add", [Pure, Commutative, SameOperandsAndResultType]> {
  let summary = "a + b";
  let arguments = (ins Lm_Activations:$a, Lm_Activations:$b);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($result)";
}

def Lm_MulOp : Lm_Op<"mul", [Pure, Commutative, SameOperandsAndResultType]> {
  let summary = "a * b";
  let arguments = (ins Lm_Activations:$a, Lm_Activations:$b);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($result)";
}

def Lm_ScaleOp : Lm_Op<"scale", [Pure, SameOperandsAndResultType]> {
  let summary = "x * factor";
  let arguments = (ins Lm_Activations:$x, F32Attr:$factor);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Lm_ActivationOp : Lm_Op<"activation", [Pure, SameOperandsAndResultType]> {
  let summary = "silu, gelu_tanh, gelu, quick_gelu, relu, relu2, mish or sigmoid";
  let arguments = (ins Lm_Activations:$x, Lm_ActivationKind:$kind);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($result)";
}

def Lm_XieluOp : Lm_Op<"xielu", [Pure, AllTypesMatch<["x", "result"]>,
                                 AllTypesMatch<["linear", "positive", "negative"]>]> {
  let summary = "linear x + positive p^2 + negative (exp(n) - 1 - n), with p = max(x, 0), n = min(x, 0)";
  let description = "The expanded integral of ELU (arXiv:2411.13010). The three vectors have a value for each channel.";
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$linear, Lm_WeightType:$positive, Lm_WeightType:$negative);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $linear `,` $positive `,` $negative attr-dict `:` type($x) `,` type($linear)";
  let hasVerifier = 1;
}

def Lm_SwigluOaiOp : Lm_Op<"swiglu_oai", [Pure, SameOperandsAndResultType]> {
  let summary = "(u + 1) g sigmoid(alpha g), with g = min(gate, limit) and u = up clamped to [-limit, limit]";
  let description = "The gated activation of gpt-oss.";
  let arguments = (ins Lm_Activations:$gate, Lm_Activations:$up, F32Attr:$alpha, F32Attr:$limit);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($result)";
}

def Lm_ScaleRowsOp : Lm_Op<"scale_rows", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "x[t] * factors[t]: a factor for each row";
  let arguments = (ins Lm_Activations:$x, Lm_Activations:$factors);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $factors attr-dict `:` type($x) `,` type($factors)";
  let hasVerifier = 1;
}

def Lm_SoftcapOp : Lm_Op<"softcap", [Pure, SameOperandsAndResultType]> {
  let summary = "cap * tanh(x / cap)";
  let arguments = (ins Lm_Activations:$x, F32Attr:$cap);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

#endif
