//===- Attention.td - Rotations, the KV cache, attention ------------------===//
#ifndef INGOT_DIALECTS_LM_OPS_ATTENTION_TD
#define INGOT_DIALECTS_LM_OPS_ATTENTION_TD

include "dialects/lm/LmTypes.td"

def Lm_RopeOp : Lm_Op<"rope", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "rotates pairs of each head by position * frequency";
  let description = [{
    `frequencies` is a vector of rotary/2 inverse frequencies, which include any long-context scaling. The first
    `rotary` elements of each head rotate; the others are unchanged. cos and sin are multiplied by `attention_factor`.
  }];
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$frequencies, Lm_BatchType:$batch, I64Attr:$heads,
                   Lm_RopeStyle:$style, DefaultValuedAttr<F32Attr, "1.0f">:$attention_factor);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $frequencies `,` $batch attr-dict `:` type($x) `,` type($frequencies)";
  let hasVerifier = 1;
}

def Lm_ScaleByPositionOp : Lm_Op<"scale_by_position", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "x[t] * factors[positions[t] / period]; later positions use the last factor";
  let description = [{
    Models whose attention sharpens as contexts grow apply this op to their queries. It is lowered together with the
    rotation of the queries.
  }];
  let arguments = (ins Lm_Activations:$x, Lm_WeightType:$factors, Lm_BatchType:$batch, I64Attr:$period);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = "$x `,` $factors `,` $batch attr-dict `:` type($x) `,` type($factors)";
  let hasVerifier = 1;
}

def Lm_KvAppendOp : Lm_Op<"kv_append", [Pure, AllTypesMatch<["kv", "result"]>]> {
  let summary = "the paged state with this step's keys and values added";
  let arguments = (ins Lm_Activations:$k, Lm_Activations:$v, Lm_StateType:$kv, Lm_BatchType:$batch);
  let results = (outs Lm_StateType:$result);
  let assemblyFormat = "$k `,` $v `,` $kv `at` $batch attr-dict `:` type($k) `,` type($v) `,` type($kv)";
  let hasVerifier = 1;
  let extraClassDeclaration = "int64_t getKvHeads() { return ::ingot::lm::kvHeadsOf(getKv()); }";
}

def Lm_AttentionOp : Lm_Op<"attention", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "causal grouped-query attention of this step's tokens over keys and values";
  let description = [{
    Query head h reads KV head h * kv_heads / heads; the state's stream of keys determines the number of KV heads.
    score = scale * q.k, then cap * tanh(score / cap) if `softcap` > 0. A token at position p attends to position j if
    j <= p and (window = 0 or j > p - window). A head's `sinks` value is the score of one extra position without a
    value vector: it takes part in the softmax and adds nothing to the sum.
  }];
  let arguments = (ins Lm_Activations:$q, Lm_StateType:$kv, Lm_BatchType:$batch, Optional<Lm_WeightType>:$sinks,
                   I64Attr:$heads, F32Attr:$scale, DefaultValuedAttr<I64Attr, "0">:$window,
                   DefaultValuedAttr<F32Attr, "0.0f">:$softcap);
  let results = (outs Lm_Activations:$result);
  let assemblyFormat = [{ $q `,` $kv `,` $batch (`sinks` $sinks^ `:` type($sinks))? attr-dict `:` type($q) `,` type($kv)
                          `->` type($result) }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getKvHeads() { return ::ingot::lm::kvHeadsOf(getKv()); }
    /// Accepts all types; the verifier reports mismatches in more detail.
    static bool isCompatibleReturnTypes(::mlir::TypeRange, ::mlir::TypeRange) { return true; }
  }];
}

#endif
